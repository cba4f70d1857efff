/* A page in headless Chromium, looked at as a person would: opened, clicked, dragged, photographed. Talks to the browser
   over a pipe; needs node and nothing from npm. CHROMIUM names the browser. */
"use strict";
const fs = require("fs"), os = require("os"), path = require("path"), zlib = require("zlib");
const { spawn, spawnSync } = require("child_process");
const { pathToFileURL } = require("url");

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const software = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"]; /* WebGL without a graphics card */

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
  /* page: a file or an address; ready: an expression that is true once the page can be used. */
  async open(page, ready, width, height, features, phone) {
    const { targetInfos } = await this.send("Target.getTargets");
    const { sessionId } = await this.send("Target.attachToTarget", { targetId: targetInfos.find((t) => t.type === "page").targetId, flatten: true });
    this.session = sessionId;
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.send(domain + ".enable");
    await this.resize(width, height, phone);
    if (features) await this.send("Emulation.setEmulatedMedia", { features });
    await this.send("Page.navigate", { url: /^[a-z]+:\/\//.test(page) ? page : pathToFileURL(page).href });
    for (let i = 0; i < 600; i++, await sleep(100))
      if (await this.run("document.readyState === 'complete' && (" + ready + ")")) return true;
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
  /* A screenshot into this.shots, where that is set. */
  async shot(name) {
    if (!this.shots) return;
    fs.mkdirSync(this.shots, { recursive: true });
    fs.writeFileSync(path.join(this.shots, name + ".png"), await this.picture(null, name));
  }
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

module.exports = { Browser, findBrowser, pixelsOf, colours, difference, software, sleep };
