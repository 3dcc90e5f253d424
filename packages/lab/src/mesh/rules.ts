import type { MeshFlow, MeshLink } from "./mesh-plan.ts";

/** TCP segment on Ethernet: header bytes, then largest payload. */
const HEADER_BYTES = 66;
const SEGMENT_BYTES = 1448;
const ACKNOWLEDGED = 1.04;
/** Extra relay rate, so that a flow waits only at its source. */
const RELAYED = 1.02;
const LEAST_BITS_PER_SECOND = 8_000;
/** Smallest bursts that work: two frames, HTB quantum one. Larger ones void the rate over short times. */
const BURST = "burst 3028 cburst 3028 quantum 1514";
const REST = "fff";
const REST_QUEUE_BYTES = 120_000;
const FLOW_QUEUE_BYTES = 60_000;
/** First routing table (one per neighbour) and class (one per flow) of ours. */
const FIRST_TABLE = 1_000;
const FIRST_CLASS = 0x10;
const FIRST_PREFERENCE = 1_000;

export function addressOf(node: number): string {
  return `10.84.${node}.1`;
}

function linkAddress(link: number, end: 0 | 1): string {
  return `10.85.${link >> 6}.${(link & 63) * 4 + 1 + end}`;
}

function deviceOf(link: number): string {
  return `l${link}`;
}

export function cableLine(link: number, [a, b]: readonly [string, string]): string {
  const device = deviceOf(link);
  return `link add name ${device} netns ${a} type veth peer name ${device} netns ${b}`;
}

interface MeshPort {
  readonly device: string;
  readonly link: number;
  readonly end: 0 | 1;
  readonly neighbour: number;
  readonly bitsPerSecond: number;
}

export function portsOf(node: number, links: readonly MeshLink[]): MeshPort[] {
  return links.flatMap(({ a, b, bitsPerSecond }, link): MeshPort[] => {
    if (a !== node && b !== node) return [];
    const end = a === node ? 0 : 1;
    return [{ device: deviceOf(link), link, end, neighbour: end === 0 ? b : a, bitsPerSecond }];
  });
}

export function addressLines(
  node: number,
  ports: readonly MeshPort[],
  next: readonly (number | null)[],
): string[] {
  const via = new Map(ports.map((port) => [port.neighbour, linkAddress(port.link, port.end === 0 ? 1 : 0)]));
  const own = addressOf(node);
  return [
    "link set lo up",
    `address add ${own}/32 dev lo`,
    ...ports.flatMap(({ device, link, end, neighbour }) => [
      `address add ${linkAddress(link, end)}/30 dev ${device}`,
      `link set ${device} up`,
      `route add default via ${via.get(neighbour)!} src ${own} table ${FIRST_TABLE + neighbour}`,
    ]),
    ...next.flatMap((neighbour, target) =>
      neighbour === null || target === node
        ? []
        : [`route add ${addressOf(target)}/32 via ${via.get(neighbour)!} src ${own}`],
    ),
  ];
}

function rateText(bitsPerSecond: number): string {
  return `${Math.round(Math.max(LEAST_BITS_PER_SECOND, bitsPerSecond))}bit`;
}

const onWire = (bitsPerSecond: number, bytesPerFrame: number): number =>
  bitsPerSecond * (1 + HEADER_BYTES / Math.min(SEGMENT_BYTES, bytesPerFrame));

export function capacityLines({ device, bitsPerSecond }: MeshPort): string[] {
  const full = onWire(bitsPerSecond, SEGMENT_BYTES) * ACKNOWLEDGED;
  const rest = full * (1 - 1 / ACKNOWLEDGED);
  return [
    `qdisc add dev ${device} root handle 1: htb default ${REST}`,
    `class add dev ${device} parent 1: classid 1:1 htb rate ${rateText(full)} ceil ${rateText(full)} ${BURST}`,
    `class add dev ${device} parent 1:1 classid 1:${REST} htb rate ${rateText(rest)} ceil ${rateText(full)} ${BURST}`,
    `qdisc add dev ${device} parent 1:${REST} handle ${REST}: bfifo limit ${REST_QUEUE_BYTES}`,
  ];
}

export function flowLines(
  node: number,
  ports: readonly MeshPort[],
  flows: readonly MeshFlow[],
): { ip: string[]; tc: string[] } {
  const devices = new Map(ports.map(({ neighbour, device }) => [neighbour, device]));
  const ip: string[] = [];
  const tc: string[] = [];
  for (const [at, { port, path, bitsPerSecond, bytesPerFrame }] of flows.entries()) {
    const hop = path.indexOf(node);
    const next = path[hop + 1];
    if (hop === -1 || next === undefined) continue;
    const ends = `from ${addressOf(path[0]!)} to ${addressOf(path.at(-1)!)}`;
    ip.push(
      `rule add ${ends} ipproto tcp dport ${port} lookup ${FIRST_TABLE + next} pref ${FIRST_PREFERENCE + at}`,
    );
    if (bitsPerSecond === null) continue;
    const id = (FIRST_CLASS + at).toString(16);
    const rate = rateText(onWire(bitsPerSecond, bytesPerFrame) * (hop === 0 ? 1 : RELAYED));
    const device = devices.get(next)!;
    tc.push(
      `class add dev ${device} parent 1:1 classid 1:${id} htb rate ${rate} ceil ${rate} ${BURST}`,
      `qdisc add dev ${device} parent 1:${id} handle ${id}: bfifo limit ${FLOW_QUEUE_BYTES}`,
      `filter add dev ${device} parent 1: protocol ip prio 1 u32 match ip protocol 6 0xff match ip dport ${port} 0xffff flowid 1:${id}`,
    );
  }
  return { ip, tc };
}
