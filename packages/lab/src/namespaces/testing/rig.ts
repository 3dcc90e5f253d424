import {
  KernelSocket,
  loadLibc,
  Poller,
  READABLE,
  ReceiveBatch,
  SendBatch,
  socketAddress,
  SYS,
} from "@isochrone/kernel-sockets";
import { onTestFinished } from "vitest";
import { NamespaceLab, type NamespaceLabOptions } from "../namespace-lab.ts";
import { runOn, udpPinger } from "./programs.ts";

export async function makeLab(options: Partial<NamespaceLabOptions> = {}): Promise<NamespaceLab> {
  const lab = await NamespaceLab.create({ nodes: ["a", "b"], ...options });
  onTestFinished(() => lab.close());
  return lab;
}

export async function pingUdp(
  lab: NamespaceLab,
  options: { count: number; intervalMs: number; lingerMs?: number; family?: 4 | 6 },
): Promise<number[]> {
  const printed = await runOn(lab, "a", udpPinger(lab.address("b", options.family ?? 4), options));
  return JSON.parse(printed) as number[];
}

/** Sequential echoes from `a` to `b`: round-trip times in ms by kernel timestamps on `a`, by sequence. */
export async function pingIcmp(
  lab: NamespaceLab,
  family: 4 | 6,
  count: number,
): Promise<Map<number, number>> {
  const libc = await loadLibc();
  const kind =
    family === 4
      ? { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: SYS.IPPROTO_ICMP }
      : { family: SYS.AF_INET6, type: SYS.SOCK_DGRAM, protocol: SYS.IPPROTO_ICMPV6 };
  const socket = lab.within("a", () => KernelSocket.open(libc, kind));
  onTestFinished(() => socket.close());
  socket.enableTimestamps({ sends: true });
  const to = socketAddress(libc, lab.address("b", family), 0);
  const requests = new SendBatch(libc, 1, 64);
  const answers = new ReceiveBatch(libc, 1, 64);
  const poller = new Poller(libc);
  const times = { sent: Number.NaN, received: Number.NaN };
  poller.add(socket.fd, READABLE, () => {
    if (answers.receive(socket.fd, SYS.MSG_ERRQUEUE) === 1) times.sent = answers.info(0).kernelTime;
    if (answers.receive(socket.fd) === 1) times.received = answers.info(0).kernelTime;
  });
  const measured = new Map<number, number>();
  for (let sequence = 0; sequence < count; sequence++) {
    times.sent = times.received = Number.NaN;
    const request = requests.add(40, to).fill(0);
    request[0] = family === 4 ? 8 : 128;
    request.writeUInt16BE(sequence, 6);
    requests.send(socket.fd);
    const looks = 50;
    for (let look = 0; look < looks && Number.isNaN(times.sent + times.received); look++) poller.wait(20);
    measured.set(sequence, (times.received - times.sent) / 1e6);
  }
  poller.close();
  requests.free();
  answers.free();
  return measured;
}
