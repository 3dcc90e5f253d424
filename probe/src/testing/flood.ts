// A hostile child process: floods the responder at 127.0.0.2 with UDP packets from many loopback addresses.
// Arguments: port, packets per second, milliseconds, a validly signed "captured" packet in hex, and
// optionally the only kind of packet to send. Prints the sent counts.
import { randomBytes } from "node:crypto";
import { KernelSocket, SYS, SendBatch, loadLibc, socketAddress, type Libc } from "@isochrone/kernel-sockets";
import { signedRequest } from "./harness.ts";

const SOURCES = 200;
const ALL_KINDS = [
  "garbage",
  "malformed",
  "wrong_hmac",
  "wrong_source",
  "wrong_destination",
  "replayed",
] as const;
/** Kinds made from a captured packet. Few: an on-path attacker can do worse than flood. */
const CAPTURED = new Set<string>(["wrong_source", "replayed"]);
const CAPTURED_EVERY = 4;
const BATCH = 50;
const PACKET_BYTES = 128;
const WRONG_KEY = { id: 1, secret: Buffer.alloc(32, 0xee) };

const [port, rate, durationMs, captured, onlyKind] = process.argv.slice(2);
if (port === undefined || captured === undefined)
  throw new Error("flood.ts needs port, rate, milliseconds, packet");
const kinds = ALL_KINDS.filter((kind) => onlyKind === undefined || kind === onlyKind);
const libc = await loadLibc();
const to = socketAddress(libc, "127.0.0.2", Number(port));
const sent = Object.fromEntries(kinds.map((kind) => [kind, 0]));
const attackers = Array.from({ length: SOURCES }, (_, i) => openAttacker(libc, `127.0.3.${i + 1}`));
const replayer = openAttacker(libc, "127.0.0.1");
const batch = new SendBatch(libc, BATCH, PACKET_BYTES);
const bell = new Int32Array(new SharedArrayBuffer(4));

const beganMs = performance.now();
let total = 0;
for (let turn = 0; ; turn++) {
  const elapsedMs = performance.now() - beganMs;
  if (elapsedMs >= Number(durationMs)) break;
  if (total >= (elapsedMs / 1000) * Number(rate)) Atomics.wait(bell, 0, 0, 1);
  else total += sendBatch(turn);
}
process.stdout.write(JSON.stringify({ total, elapsedMs: performance.now() - beganMs, sent }));

interface Attacker {
  readonly fd: number;
  readonly packets: Readonly<Record<(typeof ALL_KINDS)[number], Buffer>>;
}

function openAttacker(libc: Libc, source: string): Attacker {
  const socket = KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_DGRAM, protocol: 0 });
  socket.bind(source, 0);
  const malformed = signedRequest({ source, key: WRONG_KEY });
  malformed[9] = 1;
  return {
    fd: socket.fd,
    packets: {
      garbage: randomBytes(PACKET_BYTES),
      malformed,
      wrong_hmac: strange(signedRequest({ source, key: WRONG_KEY })),
      wrong_source: Buffer.from(captured!, "hex"),
      wrong_destination: strange(signedRequest({ source, destination: "127.0.0.77", key: WRONG_KEY })),
      replayed: Buffer.from(captured!, "hex"),
    },
  };
}

/** Off-path senders do not know a real flow's nonce. */
function strange(packet: Buffer): Buffer {
  packet.set(randomBytes(8), 16);
  return packet;
}

function sendBatch(turn: number): number {
  const kind = kinds[turn % kinds.length]!;
  if (kinds.length > 1 && CAPTURED.has(kind) && Math.floor(turn / kinds.length) % CAPTURED_EVERY > 0)
    return 0;
  const { fd, packets } = kind === "replayed" ? replayer : attackers[turn % SOURCES]!;
  for (let i = 0; i < BATCH; i++) {
    const packet = batch.add(PACKET_BYTES, to);
    packet.set(packets[kind]);
    if (kind === "wrong_hmac") packet.writeUInt32BE((turn * BATCH + i) >>> 0, 12);
  }
  const taken = batch.sendEach(fd, (error) => {
    throw new Error(`the flood can't send: ${error}`);
  });
  sent[kind] = (sent[kind] ?? 0) + taken;
  return taken;
}
