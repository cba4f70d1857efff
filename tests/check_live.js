/* check_live.js PAGE NATIVE [--seconds N] [--shots FOLDER] [--allow-missing]
   Opens the live page in headless Chromium. Every scene: the hash after 40 steps is that of the native program, then it
   plays for N seconds (default 3) without an error while frame times are noted. Then a drag with the mouse moves what it
   is put on, a thrown ball adds a body, a step back is a step back, and the page fits a phone and a dark theme. NATIVE is
   condsim-live. Last line: "N passed, N failed". */
"use strict";
const fs = require("fs");
const { execFileSync } = require("child_process");
const { pathToFileURL } = require("url");
const { Browser, findBrowser, colours, difference, software, sleep } = require("./browser.js");

const args = process.argv.slice(2);
const value = (name) => { const i = args.indexOf(name); return i < 0 ? null : args.splice(i, 2)[1]; };
const flag = (name) => { const i = args.indexOf(name); if (i >= 0) args.splice(i, 1); return i >= 0; };
const shots = value("--shots"), seconds = +(value("--seconds") || 3), allowMissing = flag("--allow-missing");
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

async function scenes(b) {
  const titles = execFileSync(native).toString().trim().split("\n").map((line) => line.replace(/^\d+ /, ""));
  check(titles.length >= 10, "at least ten scenes", titles.length);
  for (let i = 0; i < titles.length; i++) {
    const title = titles[i], want = execFileSync(native, [String(i), String(STEPS)]).toString().trim();
    const got = await b.run(`__live.setPlaying(false); __live.open(${i}); (() => { for (let k = 0; k < ${STEPS}; k++) if (!__live.lib.live_step()) return "step " + (k + 1) + " failed"; return __live.hash(); })()`);
    check(got === want, title + ": " + STEPS + " steps as native", got === want ? got : got + " is not " + want);
    const first = await b.picture("#view");
    const [middle, longest] = await b.run(`__live.open(${i}); __live.setPlaying(true); ${play(1000 * seconds)}`);
    const state = await b.run("({ broken: __live.broken, time: __live.lib.live_figure(0), step: document.getElementById('cost').textContent })");
    const later = await b.picture("#view");
    check(!state.broken && state.time > 0, title + ": plays", state.broken || `frame ${middle.toFixed(0)} ms, longest ${longest.toFixed(0)}, a step ${state.step}, ${state.time.toFixed(1)} s simulated`);
    check(colours(later) > 60 && difference(first, later) > 0, title + ": is drawn", colours(later) + " colours");
    await b.shot(String(i).padStart(2, "0") + "-" + title.toLowerCase().replace(/[^a-z]+/g, "-"));
  }
}

/* The soft creature: a point of it is pulled up by the mouse. */
async function hands(b) {
  const mouse = (type, x, y) => b.send("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: type === "mouseReleased" ? 0 : 1, clickCount: 1 });
  const top = "(() => { let best = [0, 0, -1]; for (let i = 0; i < __live.lib.live_items(); i++) if (__live.lib.live_item(i, 0) === 1) { const n = __live.lib.live_item(i, 2), x = __live.floats(__live.lib.live_item(i, 4), 3 * n); for (let k = 0; k < x.length; k += 3) if (x[k + 2] > best[2]) best = [x[k], x[k + 1], x[k + 2]]; } return best; })()";
  await b.run("__live.open(0); __live.setPlaying(true); 0");
  await b.run(play(2500));
  const before = await b.run(top), [x, y] = await b.run(`__live.draw(), __live.project(${JSON.stringify(before)})`);
  await mouse("mouseMoved", x, y + 6), await mouse("mousePressed", x, y + 6);
  check(await b.run("document.getElementById('view').classList.contains('held')"), "the mouse takes hold of the soft creature");
  for (let i = 1; i <= 8; i++) { await mouse("mouseMoved", x, y + 6 - 15 * i); await sleep(60); }
  await b.run(play(2500));
  const after = await b.run(top);
  await b.shot("drag");
  await mouse("mouseReleased", x, y - 114);
  check(after[2] > before[2] + 0.02, "and pulls it up", `top from ${before[2].toFixed(3)} to ${after[2].toFixed(3)} m`);
  const bodies = await b.run("__live.lib.live_figure(7)");
  await b.click("#ball"), await b.run(play(600));
  check(await b.run("__live.lib.live_figure(7)") === bodies + 1, "a thrown ball is one body more");
  await b.run("__live.setPlaying(false); 0");
  const hashes = await b.run("[__live.hash(), __live.lib.live_step(), __live.lib.live_step(), __live.lib.live_back(), __live.lib.live_back(), __live.hash()]");
  check(hashes[0] === hashes[5] && hashes[3] === 1, "two steps on and two back are none");
  await b.run("__live.lib.live_gravity(0, 0, 5); 0");
  const low = await b.run(top);
  await b.run("__live.setPlaying(true); 0"), await b.run(play(1500));
  check((await b.run(top))[2] > low[2], "with gravity upwards it rises");
}

async function small(b) {
  check(await b.run("document.documentElement.scrollWidth <= innerWidth"), "no sideways scrolling on a phone");
  const bar = await b.run("(() => { const r = document.getElementById('bar').getBoundingClientRect(); return [r.left, r.right, r.bottom, innerWidth, innerHeight]; })()");
  check(bar[0] >= 0 && bar[1] <= bar[3] && bar[2] <= bar[4], "the buttons are on the screen", bar.map(Math.round).join(" "));
  await b.click("#more");
  check(await b.run("getComputedStyle(document.getElementById('side')).display !== 'none'"), "the figures open");
  await b.run(play(1500)), await b.shot("phone");
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
  await session(390, 844, null, true, small);
  await session(1280, 800, [{ name: "prefers-color-scheme", value: "dark" }, { name: "prefers-reduced-motion", value: "reduce" }], false, calm);
  console.log(passed + " passed, " + failed + " failed");
  process.exit(failed ? 1 : 0);
})();
