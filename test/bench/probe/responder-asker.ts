// Arguments: UDP port, key in base64 or "none", number of requests, maximum outstanding requests, requests
// per second (0: unlimited).
import { ascending, nearestRank } from "@isochrone/primitives";
import {
  KernelSocket,
  Poller,
  READABLE,
  ReceiveBatch,
  SendBatch,
  SYS,
  loadLibc,
  socketAddress,
} from "@isochrone/kernel-sockets";
import { createRequest, Keyring, parseAddress, signRequest } from "@isochrone/probe/testing";

const PACKET_BYTES = 128;
const BATCH = 32;
const RESIDENCE_AT = 60;
const SEQUENCE_AT = 24;
/** Without a response for this long, missing ones are lost. Milliseconds. */
const PATIENCE_MS = 1000;

const [port, key, count, window, perSecond] = process.argv
  .slice(2)
  .map((text) => (/^\d+$/.test(text) ? Number(text) : text));
const total = Number(count);
const keys = new Keyring(key === "none" ? [] : [{ id: 1, secret: Buffer.from(String(key), "base64") }]);
const requests = signedRequests();
const libc = await loadLibc();
const socket = KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: 0 });
socket.setReceiveBuffer(4 << 20);
socket.bind("127.0.0.1", 0);
const to = socketAddress(libc, "127.0.0.2", Number(port));
const sends = new SendBatch(libc, BATCH, PACKET_BYTES);
const received = new ReceiveBatch(libc, 64, PACKET_BYTES);
const poller = new Poller(libc);
const sentMs = new Float64Array(total);
const roundTripsUs: number[] = [];
const residencesUs: number[] = [];
let sent = 0;
let answered = 0;
let heardMs = performance.now();
poller.add(socket.fd, READABLE, () => drain());

const beganMs = performance.now();
while (!isOver()) {
  send(performance.now());
  // With one at a time, busy-wait to exclude the asker's own wake-up.
  poller.wait(window === 1 && perSecond === 0 ? 0 : 1);
}
const elapsedMs = heardMs - beganMs;
process.stdout.write(
  JSON.stringify({
    answered,
    lost: total - answered,
    elapsedMs,
    rttUs: spreadOf(roundTripsUs),
    residenceUs: spreadOf(residencesUs),
  }),
);

function isOver(): boolean {
  return answered === total || performance.now() - heardMs > PATIENCE_MS;
}

function signedRequests(): Buffer[] {
  const source = parseAddress("127.0.0.1") ?? new Uint8Array(16);
  const destination = parseAddress("127.0.0.2") ?? new Uint8Array(16);
  const nonce = BigInt(process.pid) << 20n;
  const packet = createRequest(
    { bytes: PACKET_BYTES, transport: "udp", session: process.pid, nonce, source, destination },
    key === "none" ? 0 : 1,
  );
  return Array.from({ length: total }, (_, sequence) => {
    signRequest(packet, sequence, keys);
    return Buffer.from(packet);
  });
}

function send(nowMs: number): void {
  const rate = Number(perSecond);
  const due = rate === 0 ? total : Math.min(total, Math.floor(((nowMs - beganMs) / 1000) * rate) + 1);
  while (sent < due && sent - answered < Number(window)) {
    while (!sends.full && sent < due && sent - answered < Number(window)) {
      sends.add(PACKET_BYTES, to).set(requests[sent]!);
      sentMs[sent++] = performance.now();
    }
    sends.send(socket.fd);
    heardMs = Math.max(heardMs, nowMs);
  }
}

function drain(): void {
  const messages = received.receive(socket.fd);
  const nowMs = performance.now();
  for (let slot = 0; slot < messages; slot++) {
    const packet = received.message(slot);
    roundTripsUs.push((nowMs - sentMs[packet.readUInt32BE(SEQUENCE_AT)]!) * 1000);
    residencesUs.push(Number(packet.readBigUInt64BE(RESIDENCE_AT)) / 1000);
    answered++;
  }
  heardMs = nowMs;
}

function spreadOf(values: number[]): { p50: number; p99: number } {
  const sorted = ascending(values);
  return {
    p50: nearestRank(sorted, 0.5) ?? Number.NaN,
    p99: nearestRank(sorted, 0.99) ?? Number.NaN,
  };
}
