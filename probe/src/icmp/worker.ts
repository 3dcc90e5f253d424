// Entry file of the ICMP thread. It blocks in the kernel while replies are due; nothing else runs in it.
import { randomBytes } from "node:crypto";
import { parentPort } from "node:worker_threads";
import { EchoSocket } from "./echo-socket.ts";
import { IcmpHost } from "./icmp-host.ts";
import { loadLibc } from "./libc.ts";
import type { FromIcmp, ToIcmp } from "./messages.ts";

const port = parentPort;
if (port === null) throw new Error("icmp/worker.ts must be started as a worker thread");
const post = (message: FromIcmp): void => port.postMessage(message);

try {
  const random = randomBytes(10);
  const socket = new EchoSocket(await loadLibc(), random.readUInt16BE(8), random.readBigUInt64BE(0));
  const host = new IcmpHost({
    socket,
    monotonic: () => performance.now(),
    random: () => Math.random(),
    later: (run, delayMs) => {
      if (delayMs > 0) setTimeout(run, delayMs);
      else setImmediate(run);
    },
    post,
  });
  post({ type: "ready", socket: socket.raw ? "raw" : "datagram" });
  port.on("message", (message: ToIcmp) => host.handle(message));
} catch (error) {
  post({ type: "unavailable", reason: error instanceof Error ? error.message : String(error) });
  port.close();
}
