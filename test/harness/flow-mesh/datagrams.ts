// Sends datagrams between mesh nodes, and the tunnel's format: VXLAN with a bare IP packet inside.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { onTestFinished, vi } from "vitest";
import type { Mesh, NodeName } from "./mesh.ts";

const PROCESS = fileURLToPath(new URL("./datagram-process.ts", import.meta.url));

interface Receiver {
  readonly texts: readonly string[];
  stop(): Promise<void>;
}

export async function receivedBy(
  mesh: Mesh,
  node: NodeName,
  address: string,
  port: number,
): Promise<Receiver> {
  const [program = "", ...prefix] = mesh.prefix(node);
  const child = spawn(program, [...prefix, process.execPath, PROCESS, "receive", address, String(port)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const texts: string[] = [];
  let rest = "";
  let isListening = false;
  child.stdout.on("data", (chunk: Buffer) => {
    const read = (rest + chunk.toString()).split("\n");
    rest = read.pop()!;
    for (const line of read)
      if (line === "listening") isListening = true;
      else texts.push(line);
  });
  await vi.waitUntil(() => isListening, { timeout: 30_000 });
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await once(child, "close");
  };
  return { texts, stop };
}

/** @param prefix command prefix that runs on the sending node */
export function sendDatagrams(
  prefix: readonly string[],
  address: string,
  port: number,
  payloads: readonly Buffer[],
): void {
  const [program = "", ...rest] = prefix;
  const texts = payloads.map((payload) => payload.toString("base64"));
  execFileSync(program, [...rest, process.execPath, PROCESS, "send", address, String(port), ...texts]);
}

interface Inner {
  readonly source: string;
  readonly target: string;
  readonly port: number;
  readonly text: string;
}

const UDP = 17;
const IP_HEADER_BYTES = 20;
const UDP_HEADER_BYTES = 8;

export function tunnelled({ source, target, port, text }: Inner): Buffer {
  const payload = Buffer.from(text);
  const udp = Buffer.alloc(UDP_HEADER_BYTES);
  udp.writeUInt16BE(4_000, 0);
  udp.writeUInt16BE(port, 2);
  udp.writeUInt16BE(UDP_HEADER_BYTES + payload.length, 4);
  const ip = Buffer.alloc(IP_HEADER_BYTES);
  ip[0] = 0x45;
  ip.writeUInt16BE(IP_HEADER_BYTES + UDP_HEADER_BYTES + payload.length, 2);
  ip[8] = 64;
  ip[9] = UDP;
  for (const [at, address] of [source, target].entries())
    for (const [index, octet] of address.split(".").entries()) ip[12 + 4 * at + index] = Number(octet);
  ip.writeUInt16BE(checksumOf(ip), 10);
  // The flags announce an identifier and the inner protocol, which is IPv4.
  const vxlan = Buffer.from([0x0c, 0, 0, 1, 0, 0, 150, 0]);
  return Buffer.concat([vxlan, ip, udp, payload]);
}

function checksumOf(header: Buffer): number {
  let sum = 0;
  for (let at = 0; at < header.length; at += 2) sum += header.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
