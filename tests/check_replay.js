/* check_replay.js PAGE [--expect FILE] [--shots FOLDER] [--brief] [--allow-missing]
   Opens a replay page in headless Chromium and looks at it as a person would: by screenshots and clicks. Checks that the
   picture is not blank and moves, that every toggle changes it, that plots are drawn and seek, that the page fits a
   phone and a dark theme, that it works without WebGL, asks nothing of the network and logs no error. Talks to the
   browser over a pipe; needs node and nothing from npm. Last line: "N passed, N failed". --expect compares positions
   that demo_replay wrote. --brief leaves out phone, dark and no-WebGL. --allow-missing: without a browser, say so
   and end well. CHROMIUM names the browser. */
"use strict";
const fs = require("fs"), os = require("os"), path = require("path"), zlib = require("zlib");
const { spawn, spawnSync } = require("child_process");
const { pathToFileURL } = require("url");

const args = process.argv.slice(2);
const value = (name) => { const i = args.indexOf(name); return i < 0 ? null : args.splice(i, 2)[1]; };
const flag = (name) => { const i = args.indexOf(name); if (i >= 0) args.splice(i, 1); return i >= 0; };
const expectFile = value("--expect"), shots = value("--shots"), allowMissing = flag("--allow-missing"), brief = flag("--brief"), page = args[0];
let passed = 0, failed = 0;

function check(ok, what, detail) {
  if (ok) passed++; else failed++;
  console.log((ok ? "ok   " : "FAIL ") + what + (detail === undefined ? "" : ": " + detail));
}
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

function findBrowser() {
  const names = process.env.CHROMIUM ? [process.env.CHROMIUM] : ["chromium", "chromium-browser", "google-chrome", "chrome"];
  return names.find((name) => spawnSync("sh", ["-c", 'command -v "$1"', "sh", name]).status === 0);
}

/* One browser with one page. Messages are JSON, ended by a zero byte. */
class Browser {
  constructor(program, extra) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "replay-"));
    this.process = spawn(program, ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--force-color-profile=srgb",
      "--remote-debugging-pipe", "--user-data-dir=" + this.folder, ...extra, "about:blank"],
      { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.next = 1;
    this.waiting = new Map();
    this.troubles = [];
    this.requests = [];
    this.gone = false;
    let text = "";
    this.process.stdio[4].on("data", (chunk) => {
      text += chunk;
      for (let end; (end = text.indexOf("\0")) >= 0; text = text.slice(end + 1)) this.hear(JSON.parse(text.slice(0, end)));
    });
    this.process.stdio[3].on("error", () => {});
    this.process.on("exit", () => { this.gone = true; this.waiting.forEach((w) => w.no(new Error("the browser ended"))); });
    this.process.on("error", () => {});
  }
  hear(m) {
    const w = this.waiting.get(m.id);
    if (w) { this.waiting.delete(m.id); clearTimeout(w.clock); if (m.error) w.no(new Error(w.method + ": " + m.error.message)); else w.yes(m.result); return; }
    const p = m.params;
    if (m.method === "Runtime.exceptionThrown") this.troubles.push("exception: " + ((p.exceptionDetails.exception || {}).description || p.exceptionDetails.text));
    if (m.method === "Runtime.consoleAPICalled" && /error|warning|assert/.test(p.type)) this.troubles.push("console: " + p.args.map((a) => a.value || a.description).join(" "));
    if (m.method === "Log.entryAdded" && p.entry.level === "error") this.troubles.push("log: " + p.entry.text);
    if (m.method === "Network.requestWillBeSent" && !/^(data|blob):/.test(p.request.url)) this.requests.push(p.request.url);
  }
  send(method, params) {
    const id = this.next++;
    return new Promise((yes, no) => {
      const clock = setTimeout(() => { this.waiting.delete(id); no(new Error(method + " gave no answer in 120 s")); }, 120000);
      this.waiting.set(id, { yes, no, method, clock });
      if (this.gone) no(new Error("the browser ended"));
      else this.process.stdio[3].write(JSON.stringify({ id, method, params: params || {}, sessionId: this.session }) + "\0");
    });
  }
  async open(width, height, features, phone) {
    const { targetInfos } = await this.send("Target.getTargets");
    const { sessionId } = await this.send("Target.attachToTarget", { targetId: targetInfos.find((t) => t.type === "page").targetId, flatten: true });
    this.session = sessionId;
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.send(domain + ".enable");
    await this.resize(width, height, phone);
    if (features) await this.send("Emulation.setEmulatedMedia", { features });
    await this.send("Page.navigate", { url: pathToFileURL(page).href });
    for (let i = 0; i < 600; i++, await sleep(100))
      if (await this.run("document.readyState === 'complete' && (!!window.__replay || document.getElementById('message').classList.contains('on'))")) return true;
    return false;
  }
  resize(width, height, phone) {
    return this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: phone ? 2 : 1, mobile: !!phone });
  }
  async run(expression) {
    const r = await this.send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    if (r.exceptionDetails) throw new Error(expression + ": " + ((r.exceptionDetails.exception || {}).description || r.exceptionDetails.text));
    return r.result.value;
  }
  /* Two turns of the page's clock: what was asked for is on the screen. */
  settle() { return this.run("new Promise(d => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(d, 30))))"); }
  async picture(selector, name) {
    let clip;
    if (selector) clip = await this.run(`(() => { const b = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return { x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, scale: 1 }; })()`);
    await this.settle();
    const { data } = await this.send("Page.captureScreenshot", { format: "png", clip, captureBeyondViewport: !!clip || name === "whole" });
    return Buffer.from(data, "base64");
  }
  async shot(name) { if (shots) { fs.mkdirSync(shots, { recursive: true }); fs.writeFileSync(path.join(shots, name + ".png"), await this.picture(null, name)); } }
  async click(selector, fraction) {
    const [x, y] = await this.run(`(() => { const e = document.querySelector(${JSON.stringify(selector)}); e.scrollIntoView({ block: "nearest" }); const b = e.getBoundingClientRect(); return [b.x + b.width * ${fraction || .5}, b.y + b.height / 2]; })()`);
    for (const type of ["mousePressed", "mouseReleased"]) await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: type === "mousePressed" ? 1 : 0, clickCount: 1 });
    await this.settle();
  }
  async drag(selector, dx, dy) {
    const [x, y] = await this.run(`(() => { const b = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()`);
    await this.send("Input.dispatchMouseEvent", { type: "mousePressed", x, y, button: "left", buttons: 1, clickCount: 1 });
    await this.send("Input.dispatchMouseEvent", { type: "mouseMoved", x: x + dx, y: y + dy, button: "left", buttons: 1 });
    await this.send("Input.dispatchMouseEvent", { type: "mouseReleased", x: x + dx, y: y + dy, button: "left" });
    await this.rest();
  }
  async wheel(selector, deltaY) {
    const [x, y] = await this.run(`(() => { const b = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()`);
    await this.send("Input.dispatchMouseEvent", { type: "mouseWheel", x, y, deltaX: 0, deltaY });
    await this.rest();
  }
  /* The view glides for a moment after it was moved; 40 turns are enough for it. */
  rest() { return this.run("new Promise(d => { let n = 40; (function turn() { n-- ? requestAnimationFrame(turn) : d(); })(); })"); }
  async close() {
    try { await Promise.race([this.send("Browser.close"), sleep(3000)]); } catch (e) { /* gone already */ }
    for (let i = 0; i < 30 && !this.gone; i++) await sleep(100);
    if (!this.gone) this.process.kill("SIGKILL");
    await sleep(100);
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/* The pixels of a PNG as Chromium writes them: 8 bits, RGB or RGBA, not interlaced. */
function pixelsOf(png) {
  const width = png.readUInt32BE(16), height = png.readUInt32BE(20), channels = png[25] === 6 ? 4 : 3, parts = [];
  for (let at = 8; at < png.length;) { const size = png.readUInt32BE(at); if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + size)); at += size + 12; }
  const raw = zlib.inflateSync(Buffer.concat(parts)), row = width * channels, out = Buffer.alloc(row * height);
  for (let y = 0; y < height; y++) {
    const kind = raw[y * (row + 1)];
    for (let x = 0; x < row; x++) {
      const left = x >= channels ? out[y * row + x - channels] : 0, up = y ? out[(y - 1) * row + x] : 0, corner = x >= channels && y ? out[(y - 1) * row + x - channels] : 0;
      const p = left + up - corner, pl = Math.abs(p - left), pu = Math.abs(p - up), pc = Math.abs(p - corner);
      const guess = [0, left, up, left + up >> 1, pl <= pu && pl <= pc ? left : pu <= pc ? up : corner][kind];
      out[y * row + x] = raw[y * (row + 1) + 1 + x] + guess;
    }
  }
  return { width, height, channels, data: out };
}
function colours(png) {
  const p = pixelsOf(png), seen = new Set();
  for (let i = 0; i < p.data.length; i += p.channels) seen.add(p.data[i] >> 2 << 16 | p.data[i + 1] >> 2 << 8 | p.data[i + 2] >> 2);
  return seen.size;
}
/* Pixels that differ by more than dithering would make. */
function difference(a, b) {
  const p = pixelsOf(a), q = pixelsOf(b);
  let n = 0;
  if (p.data.length !== q.data.length) return Infinity;
  for (let i = 0; i < p.data.length; i += p.channels)
    if (Math.abs(p.data[i] - q.data[i]) + Math.abs(p.data[i + 1] - q.data[i + 1]) + Math.abs(p.data[i + 2] - q.data[i + 2]) > 12) n++;
  return n;
}

const software = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

async function session(program, extra, width, height, features, phone, work) {
  const b = new Browser(program, extra);
  try {
    const ready = await b.open(width, height, features, phone);
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
