/* check_live.js PAGE NATIVE [--seconds N] [--shots FOLDER] [--allow-missing]
   Opens the live page in headless Chromium. Every scene: the hash after 40 steps is that of the native program; steps of N
   seconds (default 10) take less than N seconds, drawing aside; then it plays for N seconds without an error while frame
   times are noted, and what the mouse takes hold of follows it. Then a thrown ball adds a body, steps back undo it,
   sliders, switches and keys do what they say, a finger drags on a phone, and the page fits a phone and a dark theme.
   NATIVE is condsim-live. Last line: "N passed, N failed". */
"use strict";
const fs = require("fs");
const { execFileSync } = require("child_process");
const { pathToFileURL } = require("url");
const { Browser, findBrowser, colours, difference, software, sleep } = require("./browser.js");

const args = process.argv.slice(2);
const value = (name) => { const i = args.indexOf(name); return i < 0 ? null : args.splice(i, 2)[1]; };
const flag = (name) => { const i = args.indexOf(name); if (i >= 0) args.splice(i, 1); return i >= 0; };
const shots = value("--shots"), seconds = +(value("--seconds") || 10), allowMissing = flag("--allow-missing");
const [page, native] = args;
const STEPS = 40;
let passed = 0, failed = 0;

function check(ok, what, detail) {
  if (ok) passed++; else failed++;
  console.log((ok ? "ok   " : "FAIL ") + what + (detail === undefined ? "" : ": " + detail));
}

async function session(width, height, features, phone, work) {
  const b = new Browser(findBrowser(), software);
  b.shots = shots;
  try {
    if (!(await b.open(page, "!!window.__live", width, height, features, phone))) check(false, "the page gets ready within a minute");
    else await work(b);
    check(b.troubles.length === 0, "no error, warning or exception was logged", b.troubles.length ? b.troubles.slice(0, 3).join("; ") : undefined);
    const strange = b.requests.filter((url) => url !== pathToFileURL(page).href);
    check(strange.length === 0, "nothing was asked of the network", strange.length ? strange[0] : undefined);
  } catch (e) {
    check(false, "the browser answers", e.message + "; " + b.troubles.slice(0, 3).join("; "));
  } finally {
    await b.close();
  }
}

/* Frames of so many seconds of play: their median and longest, ms. */
const play = (ms) => `new Promise((done) => { const t = []; let last = performance.now(), end = last + ${ms};
  (function turn(now) { t.push(now - last), last = now; if (now < end) requestAnimationFrame(turn); else { t.shift(), t.sort((a, b) => a - b); done([t[t.length >> 1], t[t.length - 1]]); } })(last); })`;

/* Time of the steps of so many simulated seconds, without drawing, over these seconds. The first steps are those while the
   browser still compiles. */
const pace = (seconds) => `(() => { __live.setPlaying(false); const n = Math.ceil(${seconds} / __live.lib.live_h()), from = performance.now();
  for (let k = 0; k < n; k++) if (!__live.lib.live_step()) return 1e9; return (performance.now() - from) / 1000 / ${seconds}; })()`;

async function scenes(b) {
  const titles = execFileSync(native).toString().trim().split("\n").map((line) => line.replace(/^\d+ /, ""));
  check(titles.length >= 10, "at least ten scenes", titles.length);
  for (let i = 0; i < titles.length; i++) {
    const title = titles[i], want = execFileSync(native, [String(i), String(STEPS)]).toString().trim();
    const got = await b.run(`__live.setPlaying(false); __live.open(${i}); (() => { for (let k = 0; k < ${STEPS}; k++) if (!__live.lib.live_step()) return "step " + (k + 1) + " failed"; return __live.hash(); })()`);
    check(got === want, title + ": " + STEPS + " steps as native", got === want ? got : got + " is not " + want);
    const share = await b.run(`__live.open(${i}); ${pace(seconds)}`);
    check(share < 1, title + ": steps in real time on one core", share.toFixed(2) + " of it");
    await b.run(`__live.open(${i}); __live.setPlaying(false); __live.refresh(), 0`);
    const first = await b.picture("#view");
    const [middle, longest] = await b.run(`__live.open(${i}); __live.setPlaying(true); ${play(1000 * seconds)}`);
    const state = await b.run("({ broken: __live.broken, time: __live.lib.live_figure(0), step: document.getElementById('cost').textContent })");
    const later = await b.picture("#view");
    check(!state.broken && state.time > 0, title + ": plays", state.broken || `frame ${middle.toFixed(0)} ms, longest ${longest.toFixed(0)}, a step ${state.step}, ${state.time.toFixed(1)} s simulated`);
    check(colours(later) > 60 && difference(first, later) > 0, title + ": is drawn", colours(later) + " colours");
    const name = String(i).padStart(2, "0") + "-" + title.toLowerCase().replace(/[^a-z]+/g, "-");
    await b.shot(name);
    await pull(b, i, title, name);
  }
}

/* What lies under the mouse comes along when the mouse goes up: one of a dozen places of bodies that move, after 0.6 s of
   the scene. */
const mouse = (b, type, x, y) => b.send("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: type === "mouseReleased" ? 0 : 1, clickCount: 1 });
const aims = `(() => { const out = []; __live.draw();
  for (const i of __live.items) if (!i.still) {
    const x = __live.floats(i.at, 3 * i.vertices), k = 3 * (i.vertices >> 1), p = i.kind === 0 ? __live.floats(i.pose, 3) : x.slice(k, k + 3);
    if (i.kind === 1) for (let j = 0; j < x.length; j += 3 * Math.ceil(x.length / 60)) out.push([x[j + 2], ...__live.project(x.slice(j, j + 3))]);
    out.push([p[2], ...__live.project(p)]); }
  return out.filter(([z, x, y]) => x > 260 && x < innerWidth - 260 && y > 140 && y < innerHeight - 90).sort((a, b) => b[0] - a[0]).map((a) => a.slice(1)).filter((a, k, all) => k % Math.ceil(all.length / 12) === 0); })()`;
const gap = "(() => { const h = [1, 2, 3, 4, 5, 6].map((k) => __live.lib.live_held(k)); return [Math.hypot(h[0] - h[3], h[1] - h[4], h[2] - h[5]), h.slice(0, 3), h.slice(3)]; })()";
const go = (seconds) => `(() => { for (let t = 0; t < ${seconds}; t += __live.lib.live_h()) __live.lib.live_step(); __live.refresh(); return 0; })()`;
async function pull(b, number, title, name) {
  await b.run(`__live.open(${number}), __live.setPlaying(false), ${go(.6)}`);
  const spots = await b.run(aims);
  let best = -1, held = 0, said = "";
  for (let n = 0; n < spots.length && held < 12 && best < .3; n++) {
    const [x, y] = spots[n];
    await mouse(b, "mouseMoved", x, y), await mouse(b, "mousePressed", x, y);
    if (await b.run("__live.lib.live_held(0)")) {
      held++;
      const [, from] = await b.run(gap);
      await mouse(b, "mouseMoved", x + 12, y - 30), await mouse(b, "mouseMoved", x + 24, y - 72);
      await b.run(go(.5));
      const [, to, hand] = await b.run(gap), way = hand.map((v, k) => v - from[k]), gone = to.map((v, k) => v - from[k]);
      const along = way.reduce((sum, v, k) => sum + v * gone[k], 0) / way.reduce((sum, v) => sum + v * v, 0);
      if (along > best) best = along, said = `hand ${Math.hypot(...way).toFixed(3)} m, body ${Math.hypot(...gone).toFixed(3)} m`;
      if (along > .3) await b.shot(name + "-drag");
    }
    await mouse(b, "mouseReleased", x + 24, y - 72);
  }
  check(held > 0, title + ": the mouse takes hold");
  check(best > .3, title + ": what is dragged comes along", said);
  check(!(await b.run("__live.lib.live_held(0)")), title + ": and is let go");
}
const top = "(() => { let best = [0, 0, -1]; for (let i = 0; i < __live.lib.live_items(); i++) if (__live.lib.live_item(i, 0) === 1) { const n = __live.lib.live_item(i, 2), x = __live.floats(__live.lib.live_item(i, 4), 3 * n); for (let k = 0; k < x.length; k += 3) if (x[k + 2] > best[2]) best = [x[k], x[k + 1], x[k + 2]]; } return best; })()";
const figure = (i) => `__live.lib.live_figure(${i})`;
async function key(b, key, code) {
  for (const type of ["keyDown", "keyUp"]) await b.send("Input.dispatchKeyEvent", { type, key, code: code || "Key" + key.toUpperCase(), text: type === "keyDown" && key.length === 1 ? key : undefined });
  await b.settle();
}
/* A slider is put somewhere as a hand would. */
const slide = (id, value) => `(() => { const e = document.getElementById("${id}"); e.value = ${value}; e.dispatchEvent(new Event("input")); return 0; })()`;
const pressed = (id) => `document.getElementById("${id}").getAttribute("aria-pressed") === "true"`;

async function hands(b) {
  await b.run("__live.open(0); __live.setPlaying(true); 0");
  await b.run(play(2500));
  const bodies = await b.run(figure(7));
  await b.click("#ball"), await b.run(play(600));
  check(await b.run(figure(7)) === bodies + 1, "a thrown ball is one body more");
  await b.run("__live.setPlaying(false); 0");
  const hashes = await b.run("[__live.hash(), __live.lib.live_step(), __live.lib.live_step(), __live.lib.live_back(), __live.lib.live_back(), __live.hash()]");
  check(hashes[0] === hashes[5] && hashes[3] === 1, "two steps on and two back are none");
  await b.run(`(() => { while (${figure(7)} > ${bodies} && __live.lib.live_back()); __live.refresh(); return 0; })()`);
  check(await b.run(figure(7)) === bodies && await b.run("__live.items.length") >= bodies - 2, "steps back undo the ball");
  await b.run(slide("gravity", -4));
  const low = await b.run(top);
  await b.run("__live.setPlaying(true); 0"), await b.run(play(1500));
  check((await b.run(top))[2] > low[2], "with gravity upwards it rises");
  await b.run("__live.open(0); __live.setPlaying(true); 0"), await b.run(play(2500));
  const firm = (await b.run(top))[2];
  await b.run(slide("stiffness", -1)), await b.run(play(2000));
  const slack = (await b.run(top))[2];
  await b.shot("slack");
  check(slack < firm - .005, "a tenth of the stiffness lets it sink", `from ${firm.toFixed(3)} to ${slack.toFixed(3)} m`);
  await b.run(slide("stiffness", 1)), await b.run(play(2000));
  check((await b.run(top))[2] > slack + .005, "ten times as much brings it up again");
  await b.run("__live.open(2); __live.setPlaying(true); 0"), await b.run(play(1000));
  await b.run(slide("friction", 0)), await b.run(play(2500));
  await b.shot("slippery");
  check(await b.run("Math.max(...__live.items.filter((i) => !i.still).map((i) => __live.floats(i.pose, 3)[2]))") < .7, "without friction the arch falls");
}

async function keys(b) {
  await b.run("__live.open(3); __live.setPlaying(true); document.getElementById('view').focus(); 0");
  await b.run(play(1000));
  check(await b.run(pressed("within")), "the pile begins within a budget");
  await key(b, "m"), await key(b, "c"), await key(b, "f"), await key(b, "s");
  check(await b.run(`${pressed("sure")} && ${pressed("show-contacts")} && ${pressed("show-forces")} && ${pressed("slow")}`), "keys switch the mode, contacts, forces, slow motion");
  await b.run(play(3000));
  check(await b.run(figure(4)) === 1, "and a certified step is certified", await b.run("document.getElementById('residual').textContent"));
  await b.shot("forces");
  await key(b, " ", "Space");
  const time = await b.run(figure(0)), h = await b.run("__live.lib.live_h()");
  await b.run(play(300));
  check(await b.run(figure(0)) === time, "space pauses");
  await key(b, "ArrowRight", "ArrowRight");
  check(Math.abs(await b.run(figure(0)) - time - h) < 1e-9, "right is a step on");
  await key(b, "ArrowLeft", "ArrowLeft");
  check(Math.abs(await b.run(figure(0)) - time) < 1e-9, "left is a step back");
  await key(b, "?", "Slash"), await b.shot("keys"), await key(b, "?", "Slash");
  await key(b, "n");
  check(await b.run("document.getElementById('scene').value") === "4", "N is the next scene");
}

async function small(b) {
  check(await b.run("document.documentElement.scrollWidth <= innerWidth"), "no sideways scrolling on a phone");
  const bar = await b.run("(() => { const r = document.getElementById('bar').getBoundingClientRect(); return [r.left, r.right, r.bottom, innerWidth, innerHeight]; })()");
  check(bar[0] >= 0 && bar[1] <= bar[3] && bar[2] <= bar[4], "the buttons are on the screen", bar.map(Math.round).join(" "));
  await b.click("#more");
  check(await b.run("getComputedStyle(document.getElementById('side')).display !== 'none'"), "the figures open");
  await b.run(play(1500)), await b.shot("phone");
  await b.click("#more"), await b.run(play(500));
  const before = await b.run(top), [x, y] = await b.run(`__live.draw(), __live.project(${JSON.stringify(before)})`);
  const touch = (type, at) => b.send("Input.dispatchTouchEvent", { type, touchPoints: at ? [{ x: at[0], y: at[1] }] : [] });
  await touch("touchStart", [x, y + 5]);
  check(await b.run("__live.lib.live_held(0)"), "a finger takes hold of the soft creature");
  for (let i = 1; i <= 8; i++) { await touch("touchMove", [x, y + 5 - 10 * i]); await sleep(60); }
  await b.run(play(2000)), await b.shot("phone-drag");
  const after = await b.run(top);
  await touch("touchEnd");
  check(after[2] > before[2] + .02, "and lifts it", `top from ${before[2].toFixed(3)} to ${after[2].toFixed(3)} m`);
  if (shots) for (const i of [3, 9, 10, 13]) { await b.run(`__live.open(${i}); __live.setPlaying(true); 0`), await b.run(play(3000)), await b.shot("phone-" + i); }
}

async function calm(b) {
  check(await b.run("document.getElementById('play').textContent === 'play'"), "with reduced motion it waits for a press");
  await b.shot("dark");
}

(async () => {
  if (!native) { console.log("usage: check_live.js PAGE NATIVE [--seconds N] [--shots FOLDER] [--allow-missing]"); process.exit(2); }
  if (!fs.existsSync(page)) { console.log("FAIL " + page + " does not exist\n0 passed, 1 failed"); process.exit(1); }
  if (!findBrowser()) {
    console.log((allowMissing ? "skip " : "FAIL ") + "the live page in a browser: chromium was not found (CHROMIUM names another)");
    console.log(allowMissing ? "0 passed, 0 failed" : "0 passed, 1 failed");
    process.exit(allowMissing ? 0 : 1);
  }
  await session(1280, 800, null, false, scenes);
  await session(1280, 800, null, false, hands);
  await session(1280, 800, null, false, keys);
  await session(390, 844, null, true, small);
  await session(1280, 800, [{ name: "prefers-color-scheme", value: "dark" }, { name: "prefers-reduced-motion", value: "reduce" }], false, calm);
  console.log(passed + " passed, " + failed + " failed");
  process.exit(failed ? 1 : 0);
})();
