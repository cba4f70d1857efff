/* check_replay.js PAGE [--expect FILE] [--shots FOLDER] [--brief] [--allow-missing]
   Opens a replay page in headless Chromium and looks at it as a person would: by screenshots and clicks. Checks that the
   picture is not blank and moves, that every toggle changes it, that plots are drawn and seek, that the page fits a
   phone and a dark theme, that it works without WebGL, asks nothing of the network and logs no error. Talks to the
   browser over a pipe; needs node and nothing from npm. Last line: "N passed, N failed". --expect compares positions
   that demo_replay wrote. --brief leaves out phone, dark and no-WebGL. --allow-missing: without a browser, say so
   and end well. CHROMIUM names the browser. */
"use strict";
const fs = require("fs"), path = require("path");
const { pathToFileURL } = require("url");
const { Browser, findBrowser, pixelsOf, colours, difference, software, sleep } = require("./browser.js");

const args = process.argv.slice(2);
const value = (name) => { const i = args.indexOf(name); return i < 0 ? null : args.splice(i, 2)[1]; };
const flag = (name) => { const i = args.indexOf(name); if (i >= 0) args.splice(i, 1); return i >= 0; };
const expectFile = value("--expect"), shots = value("--shots"), allowMissing = flag("--allow-missing"), brief = flag("--brief"), page = args[0];
let passed = 0, failed = 0;

function check(ok, what, detail) {
  if (ok) passed++; else failed++;
  console.log((ok ? "ok   " : "FAIL ") + what + (detail === undefined ? "" : ": " + detail));
}
async function session(program, extra, width, height, features, phone, work) {
  const b = new Browser(program, extra);
  b.shots = shots;
  try {
    const ready = await b.open(page, "!!window.__replay || document.getElementById('message').classList.contains('on')", width, height, features, phone);
    if (!ready) check(false, "the page gets ready within a minute");
    else await work(b);
    check(b.troubles.length === 0, "no error, warning or exception was logged", b.troubles.length ? b.troubles.slice(0, 5).join("; ") : undefined);
    const strange = b.requests.filter((url) => url !== pathToFileURL(page).href);
    check(strange.length === 0, "nothing was asked of the network", strange.length ? strange.slice(0, 3).join(" ") : undefined);
  } catch (e) {
    check(false, "the browser answers", e.message + (b.troubles.length ? "; " + b.troubles.join("; ") : ""));
  } finally {
    await b.close();
  }
}

async function desktop(b) {
  const seek = async (k) => { await b.run(`{ const r = __replay.record; __replay.seek(r.start + (r.end - r.start) * ${k}); }`); await b.settle(); };
  const view = "#scene", over = (how) => b.run(`document.querySelectorAll('.chips, .key').forEach(e => e.style.visibility = '${how}')`);
  const bare = () => over("hidden"), dressed = () => over(""); // the picture alone, without what lies over it
  check(await b.run("__replay.webgl"), "WebGL draws the picture");
  check(await b.run("__replay.record.frames") > 1, "frames", await b.run("__replay.record.frames + ' frames, ' + __replay.record.steps + ' steps'"));
  const t0 = await b.run("__replay.time()");
  await sleep(700);
  const t1 = await b.run("__replay.time()");
  check(t1 !== t0, "it plays by itself", t0.toFixed(2) + " s to " + t1.toFixed(2) + " s");
  await seek(.5);
  await b.shot("desktop-plain");
  await bare();
  const middle = await b.picture(view);
  check(colours(middle) > 100, "the picture is not blank", colours(middle) + " colours");
  const again = await b.picture(view);
  check(difference(middle, again) === 0, "paused, it stands still");
  await seek(0);
  const begin = await b.picture(view);
  check(difference(begin, middle) > 200, "the picture moves", difference(begin, middle) + " pixels between start and middle");
  await b.click("#next");
  check(await b.run("__replay.time() > __replay.record.start"), "a step goes one frame on");
  const busy = await b.run("(() => { const c = __replay.record.contactFrames; let best = -1, n = 0; c.forEach((x, i) => { if (x.count > n) { n = x.count; best = i; } }); return best; })()");
  await seek(.5);
  if (busy >= 0) await b.run(`__replay.seek(__replay.record.times[${busy}])`);
  await b.settle();
  const plain = await b.picture(view);
  for (const name of ["wireframe", "shadows", "contacts", "forces"]) {
    if (busy < 0 && (name === "contacts" || name === "forces")) { console.log("skip " + name + ": no contact was recorded"); continue; }
    await dressed();
    await b.click(`[data-toggle=${name}]`);
    await b.shot("desktop-" + name);
    await bare();
    const n = difference(plain, await b.picture(view));
    check(n > 20, name + " changes the picture", n + " pixels");
    await dressed();
    await b.click(`[data-toggle=${name}]`);
    await bare();
    check(difference(plain, await b.picture(view)) === 0, name + " goes off again");
  }
  await b.drag(view, 120, 30);
  const turned = await b.picture(view);
  check(difference(plain, turned) > 500, "dragging turns the view", difference(plain, turned) + " pixels");
  await b.wheel(view, -300);
  const near = await b.picture(view);
  check(difference(turned, near) > 500, "the wheel zooms", difference(turned, near) + " pixels");
  await dressed();
  await b.click("#home");
  await b.rest();
  await bare();
  const n = difference(plain, await b.picture(view));
  check(n < 400, "reset brings the first view back", n + " pixels differ");
  const plots = await b.run("document.querySelectorAll('.plot canvas').length");
  for (let i = 0; i < plots; i++) {
    const png = await b.picture(`.plot:nth-child(${i + 1}) canvas`);
    check(colours(png) > 8, "plot " + (i + 1) + " is drawn", colours(png) + " colours");
  }
  await seek(0);
  const first = await b.picture(".plot:nth-child(1) canvas");
  await b.click(".plot:nth-child(1) canvas", .75);
  const at = await b.run("(__replay.time() - __replay.record.start) / (__replay.record.end - __replay.record.start)");
  check(at > .5 && at < .9, "a click in a plot seeks", at.toFixed(3) + " of the run");
  check(difference(first, await b.picture(".plot:nth-child(1) canvas")) > 20, "the cursor of the plot moves");
  await dressed();
  await b.click("#play");
  check(await b.run("document.querySelector('#play').getAttribute('aria-label')") === "Pause", "play starts it");
  await b.click("#play");
  if (expectFile) await compare(b);
  console.log("     a frame takes " + (await b.run("__replay.frameMs(12)")).toFixed(1) + " ms, drawn in software");
}

async function compare(b) {
  let worst = 0;
  const rows = JSON.parse(fs.readFileSync(expectFile, "utf8"));
  for (const [kind, frame, thing, index, ...x] of rows) {
    const call = kind === "piece" ? `piece(${frame}, ${thing})` : `${kind}(${frame}, ${thing}, ${index})`;
    const y = await b.run("__replay." + call);
    for (let k = 0; k < 3; k++) worst = Math.max(worst, Math.abs(x[k] - y[k]));
  }
  /* 16 bits over soft bodies half a metre wide: half a quantum is 6e-6 m. */
  check(rows.length > 0 && worst < 1e-5, rows.length + " positions read back as recorded", "off by " + worst.toExponential(1) + " m");
}

async function small(b) {
  await b.run("__replay.seek((__replay.record.start + __replay.record.end) / 2)");
  await b.shot("phone");
  const wide = await b.run("document.documentElement.scrollWidth");
  check(wide <= 390, "fits a phone 390 wide", wide + " wide");
  const tall = await b.run("document.querySelector('#scene').clientHeight");
  check(tall > 250, "the picture has room on a phone", tall + " high");
  check(colours(await b.picture("#scene")) > 60, "the picture is drawn on a phone");
  const box = await b.run("document.documentElement.scrollHeight");
  await b.resize(390, Math.min(box, 4000), true);
  await b.shot("phone-whole");
}

async function dark(b) {
  await b.run("__replay.seek((__replay.record.start + __replay.record.end) / 2)");
  await b.shot("dark");
  const p = pixelsOf(await b.picture("#scene"));
  let sum = 0;
  for (let i = 0; i < p.data.length; i += p.channels) sum += p.data[i] + p.data[i + 1] + p.data[i + 2];
  sum /= 3 * p.width * p.height;
  check(sum < 110, "dark theme is dark", "mean " + sum.toFixed(0));
}

async function blind(b) {
  check(!(await b.run("__replay.webgl")), "the browser has no WebGL here");
  check(/WebGL/.test(await b.run("document.querySelector('#message.on').textContent")), "the page says that WebGL is missing");
  check(colours(await b.picture(".plot:nth-child(1) canvas")) > 8, "plots work without WebGL");
  await b.shot("no-webgl");
}

(async () => {
  if (!page) { console.log("usage: check_replay.js PAGE [--expect FILE] [--shots FOLDER] [--brief] [--allow-missing]"); process.exit(2); }
  if (!fs.existsSync(page)) { console.log("FAIL " + page + " does not exist\n0 passed, 1 failed"); process.exit(1); }
  const program = findBrowser();
  if (!program) {
    console.log((allowMissing ? "skip " : "FAIL ") + "replay in a browser: chromium was not found (CHROMIUM names another)");
    console.log(allowMissing ? "0 passed, 0 failed" : "0 passed, 1 failed");
    process.exit(allowMissing ? 0 : 1);
  }
  console.log("     " + path.basename(page) + ", " + (fs.statSync(page).size / 1e6).toFixed(1) + " MB");
  await session(program, software, 1280, 800, null, false, desktop);
  if (!brief) {
    await session(program, software, 390, 844, null, true, small);
    await session(program, software, 1280, 800, [{ name: "prefers-color-scheme", value: "dark" }], false, dark);
    await session(program, ["--disable-3d-apis"], 1280, 800, null, false, blind);
  }
  console.log(passed + " passed, " + failed + " failed");
  process.exit(failed ? 1 : 0);
})();
