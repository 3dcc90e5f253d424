// The manager's nft table: what it consists of, and what is read from it.
import { KernelError } from "../../ports/errors.ts";
import {
  canonicalAddress,
  classId,
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
} from "../../domain/kernel-state.ts";
import type { MarkChange } from "../../domain/difference.ts";
import { listOf, objectOf, parsed, textOf } from "./json.ts";

const TABLE = "inet isochrone-flows";
/** Part of each rule's comment: a manager of another version makes the table anew. */
const LAYOUT = 1;
const CHAIN = "type filter hook postrouting priority mangle; policy accept;";
const FAMILIES = [4, 6] as const;
/** A later rule overrides: packets belong to the flow that says most of them. */
const KINDS = ["none", "source", "target", "both"] as const satisfies readonly Ports[];
const PORT_KEYS: Readonly<Record<Ports, readonly string[]>> = {
  none: [],
  source: ["th sport"],
  target: ["th dport"],
  both: ["th sport", "th dport"],
};

const ip = (family: IpFamily): string => (family === 4 ? "ip" : "ip6");
const mapName = (family: IpFamily, kind: Ports | "hops"): string => `v${family}_${kind}`;

/** `list` arguments of nft. */
export const LIST_TABLE = ["-j", "list", "table", ...TABLE.split(" ")] as const;

/** Input of `nft -f`: all of it takes effect at once, or nothing. */
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
  ]);
  const rules = ruleTexts().map((rule, index) => `${rule} comment "${commentOf(index)}"`);
  return `table ${TABLE} {\n${maps.join("\n")}\nchain out { ${CHAIN}\n${rules.join("\n")}\n}\n}`;
}

const commentOf = (index: number): string => `isochrone ${LAYOUT}.${index}`;

/**
 * First flows, then what else goes to a neighbour: to its own address, as outer packets of an overlay do, or
 * over it. An overlay's outer packet has the class of the inner one.
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
}

export const NO_TABLE: ReadTable = { table: "absent", marks: new Map(), hops: new Map() };

/** Of `nft -j list table`. */
export function parseTable(text: string): ReadTable {
  const { nftables } = objectOf(parsed(text, "nft"), "nft");
  const marks = new Map<string, Mark>();
  const hops = new Map<string, HopMark>();
  const found: string[] = [];
  for (const entry of Array.isArray(nftables) ? nftables : []) {
    const { map, chain, rule } = objectOf(entry, "nft");
    if (rule !== undefined) found.push(ruleName(objectOf(rule, "nft rule")));
    if (chain !== undefined) found.push(chainText(objectOf(chain, "nft chain")));
    if (map !== undefined) found.push(readMap(objectOf(map, "nft map"), marks, hops));
  }
  const isSound = found.toSorted().join("\n") === expectedParts().toSorted().join("\n");
  return { table: isSound ? "sound" : "damaged", marks, hops };
}

function expectedParts(): string[] {
  return [
    "chain out filter postrouting -150 accept",
    ...FAMILIES.flatMap((family) =>
      [...KINDS, "hops" as const].map((kind) => `map ${mapName(family, kind)}`),
    ),
    ...ruleTexts().map((_, index) => `rule ${commentOf(index)}`),
  ];
}

function ruleName({ comment }: Readonly<Record<string, unknown>>): string {
  return `rule ${String(comment)}`;
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
