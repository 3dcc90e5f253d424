// Entry file of the ICMP thread. It blocks in the kernel, so nothing else runs in it.
import { parentPort, workerData } from "node:worker_threads";
import { DescriptorLedger, loadLibc, trackDescriptors } from "@isochrone/kernel-sockets";
import { reasonOf } from "@isochrone/primitives";
import { hostSurroundings, randomIdentity } from "./host-surroundings.ts";
import { IcmpHost } from "./icmp-host.ts";
import { KernelEchoes } from "./kernel-echoes.ts";
import type { FromIcmp, ToIcmp } from "./messages.ts";

const port = parentPort;
if (port === null) throw new Error("icmp/worker.ts must be started as a worker thread");
const post = (message: FromIcmp): void => port.postMessage(message);

try {
  const { descriptors } = workerData as { descriptors: SharedArrayBuffer };
  const libc = trackDescriptors(await loadLibc(), new DescriptorLedger(descriptors));
  const echoes = new KernelEchoes(libc, randomIdentity());
  const host = new IcmpHost({ port: echoes, ...hostSurroundings(), post });
  port.on("message", (message: ToIcmp) => {
    host.handle(message);
    if (message.type === "stop") port.close();
  });
  post({ type: "ready", description: echoes.description });
} catch (error) {
  post({ type: "unavailable", reason: reasonOf(error) });
  port.close();
}
