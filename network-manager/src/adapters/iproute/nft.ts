import { KernelError } from "../../ports/errors.ts";
import {
  canonicalAddress,
  classId,
  familyOf,
  HANDLE,
  matchKey,
  minorOf,
  portsOf,
  type HopMark,
  type IpFamily,
  type Mark,
  type Match,
  type Ports,
  type TableState,
  TUNNEL,
} from "../../domain/kernel-state.ts";
import type { MarkChange } from "../../domain/difference.ts";
import { listOf, numberOf, objectOf, parsed, textOf } from "./json.ts";

const TABLE = "inet isochrone-flows";
/** Part of each rule's comment: another version's manager recreates the table. */
const LAYOUT = 2;
const OUT = "type filter hook postrouting priority mangle; policy accept;";
const IN = "type filter hook input priority mangle; policy accept;";
const FAMILIES = [4, 6] as const;
/** In increasing precedence: the most specific match wins. */
const KINDS = ["none", "source", "target", "both"] as const satisfies readonly Ports[];
const PORT_KEYS: Readonly<Record<Ports, readonly string[]>> = {
  none: [],
  source: ["th sport"],
  target: ["th dport"],
  both: ["th sport", "th dport"],
};

const ip = (family: IpFamily): string => (family === 4 ? "ip" : "ip6");
const mapName = (family: IpFamily, kind: Ports | "hops" | "peers"): string => `v${family}_${kind}`;

export const LIST_TABLE = ["-j", "list", "table", ...TABLE.split(" ")] as const;

export function nftText(changes: readonly MarkChange[]): string {
  return changes.map(changeText).join("\n") + "\n";
}

function changeText(change: MarkChange): string {
  switch (change.kind) {
    case "table-create":
      return `add table ${TABLE}\ndelete table ${TABLE}\n${tableText()}`;
    case "table-delete":
      return `delete table ${TABLE}`;
    case "mark-add":
      return `add element ${TABLE} ${elementText(change.mark, `: ${classId(change.mark.minor)} `)}`;
    case "mark-delete":
      return `delete element ${TABLE} ${elementText(change.mark, "")}`;
    case "hop-add":
      return `add element ${TABLE} ${hopText(change.hop, `: ${classId(change.hop.minor)} `)}`;
    case "hop-delete":
      return `delete element ${TABLE} ${hopText(change.hop, "")}`;
    case "peer-add":
    case "peer-delete": {
      const verb = change.kind === "peer-add" ? "add" : "delete";
      const { address } = change;
      return `${verb} element ${TABLE} ${mapName(familyOf(address), "peers")} { ${address} }`;
    }
    default:
      return change satisfies never;
  }
}

function elementText({ match }: Mark, value: string): string {
  const { family, protocol, source, target, sourcePort, targetPort } = match;
  const key = [source, target, protocol, sourcePort, targetPort].filter((part) => part !== null).join(" . ");
  return `${mapName(family, portsOf(match))} { ${key} ${value}}`;
}

function hopText({ family, address }: HopMark, value: string): string {
  return `${mapName(family, "hops")} { ${address} ${value}}`;
}

function tableText(): string {
  const maps = FAMILIES.flatMap((family) => [
    ...KINDS.map((kind) => {
      const ports = PORT_KEYS[kind].map(() => " . inet_service").join("");
      const address = `ipv${family}_addr`;
      return `map ${mapName(family, kind)} { type ${address} . ${address} . inet_proto${ports} : classid; }`;
    }),
    `map ${mapName(family, "hops")} { type ipv${family}_addr : classid; }`,
    `set ${mapName(family, "peers")} { type ipv${family}_addr; }`,
  ]);
  const chains = CHAINS.map(({ name, hook, rules }) => {
    const texts = rules().map((rule, index) => `${rule} comment "${commentOf(name, index)}"`);
    return `chain ${name} { ${hook}\n${texts.join("\n")}\n}`;
  });
  return `table ${TABLE} {\n${[...maps, ...chains].join("\n")}\n}`;
}

const CHAINS = [
  { name: "out", hook: OUT, rules: ruleTexts },
  { name: "in", hook: IN, rules: filterTexts },
] as const;

const commentOf = (chain: string, index: number): string => `isochrone ${LAYOUT} ${chain}.${index}`;

/**
 * Admits neighbours of the plan to the tunnel, by the device that leads back to them. A local pod that spoofs
 * a neighbour's address arrives by another device.
 */
function filterTexts(): string[] {
  const refused = ["iifname lo", "fib saddr . iif oif missing"];
  const strangers = FAMILIES.map((family) => `${ip(family)} saddr != @${mapName(family, "peers")}`);
  return [...refused, ...strangers].map((match) => `udp dport ${TUNNEL.port} ${match} counter drop`);
}

/**
 * Flows first, then other traffic to or via a neighbour, including outer packets of overlays. An overlay's
 * outer packet keeps the inner packet's class.
 */
function ruleTexts(): string[] {
  const flows = FAMILIES.flatMap((family) =>
    KINDS.map((kind) => {
      const key = [`${ip(family)} saddr`, `${ip(family)} daddr`, "meta l4proto", ...PORT_KEYS[kind]];
      return `meta priority set ${key.join(" . ")} map @${mapName(family, kind)}`;
    }),
  );
  const own = `meta priority & 0xffff0000 != 0x${HANDLE.toString(16)}0000`;
  const rest = FAMILIES.flatMap((family) =>
    [`rt ${ip(family)} nexthop`, `${ip(family)} daddr`].map(
      (key) => `${own} meta priority set ${key} map @${mapName(family, "hops")}`,
    ),
  );
  return [...flows, ...rest];
}

interface ReadTable {
  readonly table: TableState;
  readonly marks: ReadonlyMap<string, Mark>;
  readonly hops: ReadonlyMap<string, HopMark>;
  readonly peers: ReadonlySet<string>;
  readonly refusedPackets: number;
}

export const NO_TABLE: ReadTable = {
  table: "absent",
  marks: new Map(),
  hops: new Map(),
  peers: new Set(),
  refusedPackets: 0,
};

export function parseTable(text: string): ReadTable {
  const { nftables } = objectOf(parsed(text, "nft"), "nft");
  const marks = new Map<string, Mark>();
  const hops = new Map<string, HopMark>();
  const peers = new Set<string>();
  const found: string[] = [];
  let refusedPackets = 0;
  for (const entry of Array.isArray(nftables) ? nftables : []) {
    const { map, set, chain, rule } = objectOf(entry, "nft");
    if (rule !== undefined) {
      found.push(ruleName(objectOf(rule, "nft rule")));
      refusedPackets += packetsOf(objectOf(rule, "nft rule"));
    }
    if (set !== undefined) found.push(readSet(objectOf(set, "nft set"), peers));
    if (chain !== undefined) found.push(chainText(objectOf(chain, "nft chain")));
    if (map !== undefined) found.push(readMap(objectOf(map, "nft map"), marks, hops));
  }
  const isSound = found.toSorted().join("\n") === expectedParts().toSorted().join("\n");
  return { table: isSound ? "sound" : "damaged", marks, hops, peers, refusedPackets };
}

function expectedParts(): string[] {
  return [
    "chain out filter postrouting -150 accept",
    "chain in filter input -150 accept",
    ...FAMILIES.map((family) => `set ${mapName(family, "peers")}`),
    ...FAMILIES.flatMap((family) =>
      [...KINDS, "hops" as const].map((kind) => `map ${mapName(family, kind)}`),
    ),
    ...CHAINS.flatMap(({ name, rules }) => rules().map((_, index) => `rule ${commentOf(name, index)}`)),
  ];
}

function ruleName({ comment }: Readonly<Record<string, unknown>>): string {
  return `rule ${String(comment)}`;
}

function packetsOf({ expr }: Readonly<Record<string, unknown>>): number {
  let packets = 0;
  for (const part of listOf(expr, "nft rule")) {
    const { counter } = objectOf(part, "nft rule");
    if (counter === undefined) continue;
    const { packets: counted } = objectOf(counter, "nft counter");
    packets += numberOf(counted, "nft counter");
  }
  return packets;
}

function readSet({ name, elem }: Readonly<Record<string, unknown>>, peers: Set<string>): string {
  for (const address of Array.isArray(elem) ? elem : [])
    peers.add(canonicalAddress(textOf(address, "nft element")));
  return `set ${String(name)}`;
}

function chainText({ name, type, hook, prio, policy }: Readonly<Record<string, unknown>>): string {
  return ["chain", name, type, hook, prio, policy].map(String).join(" ");
}

function readMap(
  { name, elem }: Readonly<Record<string, unknown>>,
  marks: Map<string, Mark>,
  hops: Map<string, HopMark>,
): string {
  for (const pair of Array.isArray(elem) ? elem : []) {
    const [key, value] = listOf(pair, "nft element");
    const minor = minorOf(textOf(value, "nft element"));
    if (minor === null) continue;
    if (typeof key === "string") {
      const address = canonicalAddress(key);
      hops.set(address, { family: address.includes(":") ? 6 : 4, address, minor });
      continue;
    }
    const { concat } = objectOf(key, "nft element");
    const match = matchOf(textOf(name, "nft map"), concat);
    marks.set(matchKey(match), { match, minor });
  }
  return `map ${String(name)}`;
}

function matchOf(map: string, concat: unknown): Match {
  const [source, target, protocol, ...ports] = listOf(concat, "nft element");
  const kind = KINDS.find((known) => map.endsWith(`_${known}`));
  if (kind === undefined || (protocol !== "tcp" && protocol !== "udp"))
    throw new KernelError(
      "not_understood",
      `nft map ${map} must hold flows of tcp and udp, got ${String(protocol)}`,
    );
  const numbers = ports.map(Number);
  const named = PORT_KEYS[kind];
  const portOf = (key: string): number | null => numbers[named.indexOf(key)] ?? null;
  return {
    family: map.startsWith("v4") ? 4 : 6,
    protocol,
    source: canonicalAddress(textOf(source, "nft element")),
    sourcePort: portOf("th sport"),
    target: canonicalAddress(textOf(target, "nft element")),
    targetPort: portOf("th dport"),
  };
}
