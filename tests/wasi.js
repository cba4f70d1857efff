/* wasi.js PROGRAM: runs a program of wasi-libc that only prints. */
"use strict";
const fs = require("fs");
let memory = null;
const bytes = (from, size) => Buffer.from(memory.buffer, from, size);
const system = new Proxy({
  proc_exit: (code) => process.exit(code),
  fd_write: (fd, list, count, written) => {
    const view = new DataView(memory.buffer);
    let n = 0;
    for (let i = 0; i < count; i++) {
      const size = view.getUint32(list + 8 * i + 4, true);
      fs.writeSync(fd, bytes(view.getUint32(list + 8 * i, true), size)), n += size;
    }
    view.setUint32(written, n, true);
    return 0;
  },
}, { get: (o, name) => o[name] || (() => 8) });
WebAssembly.instantiate(fs.readFileSync(process.argv[2]), { wasi_snapshot_preview1: system }).then(({ instance }) => {
  memory = instance.exports.memory, instance.exports._start();
});
