// The far end: answers echo requests by rules per address. Without rules the kernel answers.
import { writeFileSync } from "node:fs";
import {
  KernelSocket,
  Poller,
  READABLE,
  ReceiveBatch,
  SYS,
  SendBatch,
  loadLibc,
  socketAddress,
} from "@isochrone/kernel-sockets";

/** Replies to a request: their number, delay, source, and the altered byte of the ICMP message (-1: none). */
export interface Answer {
  readonly copies: number;
  readonly delayMs: number;
  readonly source: string;
  readonly alteredByte: number;
}

export type ToFar =
  /** Rules by requested address; others stay silent. Null: the kernel answers. */
  | { readonly type: "rules"; readonly rules: Readonly<Record<string, Answer>> | null }
  | { readonly type: "count" }
  /** Only the kernel answers and nothing is counted from now on, to measure without a listener. */
  | { readonly type: "rest" };

export type FromFar =
  | { readonly type: "started" }
  | { readonly type: "ruled" }
  | {
      readonly type: "counted";
      readonly requests: number;
      /** Type-of-service byte of the newest request, and its bytes after the ICMP header. */
      readonly tos: number;
      readonly payloadBytes: number;
    };

const ECHO_REQUEST = 8;
const POLL_MS = 2;
const DATA_BYTES = 2048;

const post = (message: FromFar): void => void process.send?.(message);
process.on("disconnect", () => process.exit(0));

const libc = await loadLibc();
const listener = openRaw();
listener.setOption(SYS.SOL_RAW, SYS.ICMP_FILTER, ~(1 << ECHO_REQUEST));
const poller = new Poller(libc);
poller.add(listener.fd, READABLE, () => {});
const batch = new ReceiveBatch(libc, 32, DATA_BYTES);
const senders = new Map<string, { socket: KernelSocket; batch: SendBatch }>();
let rules: Readonly<Record<string, Answer>> | null = null;
let requests = 0;
let resting = false;
let tos = 0;
let payloadBytes = 0;

function openRaw(): KernelSocket {
  return KernelSocket.open(libc, { family: SYS.AF_INET, type: SYS.SOCK_RAW, protocol: SYS.IPPROTO_ICMP });
}

function senderOf(source: string): { socket: KernelSocket; batch: SendBatch } {
  const known = senders.get(source);
  if (known !== undefined) return known;
  const socket = openRaw();
  socket.bind(source, 0);
  const sender = { socket, batch: new SendBatch(libc, 1, DATA_BYTES) };
  senders.set(source, sender);
  return sender;
}

function answer(message: Buffer, asker: string): void {
  const headerBytes = ((message[0] as number) & 15) * 4;
  const asked = [...message.subarray(16, 20)].join(".");
  requests++;
  tos = message[1] as number;
  payloadBytes = message.length - headerBytes - 8;
  const rule = rules?.[asked];
  if (rule === undefined) return;
  const reply = Buffer.from(message.subarray(headerBytes));
  reply[0] = 0;
  if (rule.alteredByte >= 0) reply[rule.alteredByte] = (reply[rule.alteredByte] as number) ^ 0x40;
  reply.writeUInt16BE(0, 2);
  reply.writeUInt16BE(checksum(reply), 2);
  const send = (): void => {
    const { socket, batch: sends } = senderOf(rule.source);
    const to = socketAddress(libc, asker, 0);
    for (let copy = 0; copy < rule.copies; copy++) {
      reply.copy(sends.add(reply.length, to));
      sends.send(socket.fd);
    }
    libc.free(to.block);
  };
  if (rule.delayMs > 0) setTimeout(send, rule.delayMs);
  else send();
}

function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += bytes.readUInt16BE(i);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

process.on("message", (message: ToFar) => {
  if (message.type === "rest") {
    resting = true;
    return;
  }
  if (message.type === "count") {
    post({ type: "counted", requests, tos, payloadBytes });
    return;
  }
  rules = message.rules;
  writeFileSync("/proc/sys/net/ipv4/icmp_echo_ignore_all", rules === null ? "0" : "1");
  post({ type: "ruled" });
});

function turn(): void {
  if (resting) {
    poller.remove(listener.fd);
    listener.close();
    return;
  }
  poller.wait(POLL_MS);
  const count = batch.receive(listener.fd);
  for (let slot = 0; slot < count; slot++) answer(batch.message(slot), batch.sourceIp(slot));
  setImmediate(turn);
}
turn();
post({ type: "started" });
