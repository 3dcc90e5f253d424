// The manager's own kernel state. Foreign objects are neither read into it nor named in changes.

type Protocol = "tcp" | "udp";
export type IpFamily = 4 | 6;

export interface Match {
  readonly family: IpFamily;
  readonly protocol: Protocol;
  readonly source: string;
  readonly sourcePort: number | null;
  readonly target: string;
  readonly targetPort: number | null;
}

export interface HtbClass {
  readonly minor: number;
  readonly parent: number | null;
  /** Bits per second, a value that tc can show; see `shownRate`. */
  readonly rateBitsPerSecond: number;
  readonly ceilBitsPerSecond: number;
  readonly priority: number;
  /** Queue limit in bytes; null: an inner class. */
  readonly queueBytes: number | null;
}

export interface Mark {
  readonly match: Match;
  readonly minor: number;
}

export interface HopMark {
  readonly family: IpFamily;
  readonly address: string;
  readonly minor: number;
}

export interface Rule {
  readonly match: Match;
  readonly table: number;
}

/** A table's default route. For the tunnel, the gateway is the outer destination. */
export interface Route {
  readonly family: IpFamily;
  readonly table: number;
  readonly gateway: string;
  readonly device: string;
}

/** Device for neighbours behind routers: VXLAN-GPE with bare IP packets. */
export interface Tunnel {
  readonly mtu: number;
}

export interface OwnState {
  readonly devices: ReadonlyMap<string, ReadonlyMap<number, HtbClass>>;
  readonly marks: ReadonlyMap<string, Mark>;
  readonly hops: ReadonlyMap<string, HopMark>;
  readonly rules: ReadonlyMap<string, Rule>;
  readonly routes: ReadonlyMap<string, Route>;
  readonly tunnel: Tunnel | null;
  /** Addresses admitted to the tunnel; all others are dropped. */
  readonly peers: ReadonlySet<string>;
}

/** State of the nft table. Damaged: its chain or maps were changed by others. */
export type TableState = "absent" | "sound" | "damaged";

export interface ClassCounters {
  readonly sentBytes: number;
  readonly droppedPackets: number;
  readonly queuedPackets: number;
}

export interface RootQdisc {
  readonly owner: "kernel" | "manager" | "other";
  readonly name: string;
}

export interface Way {
  readonly device: string;
  readonly gateway: string | null;
  readonly isLocal: boolean;
}

export interface KernelState extends OwnState {
  readonly table: TableState;
  readonly roots: ReadonlyMap<string, RootQdisc>;
  /** Keyed by the queried address; unreachable ones are absent. */
  readonly ways: ReadonlyMap<string, Way>;
  readonly forwards: Readonly<Record<IpFamily, boolean>>;
  /** Strict reverse path filter (RFC 3704): drops tunnelled packets unless replies would use the tunnel. */
  readonly isStrict: boolean;
  readonly mtus: ReadonlyMap<string, number>;
  /** Packets refused by the tunnel's filter since the table was created. */
  readonly refusedPackets: number;
  readonly counters: ReadonlyMap<string, ReadonlyMap<number, ClassCounters>>;
}

export const NOTHING: OwnState = {
  devices: new Map(),
  marks: new Map(),
  hops: new Map(),
  rules: new Map(),
  routes: new Map(),
  tunnel: null,
  peers: new Set(),
};

export const HANDLE = 0x15c0;
/** Owner of routes and rules, as shown by `ip`. At most 255; unused by known daemons. */
export const ROUTE_PROTOCOL = 150;
/** Rule preferences, more specific ports first, before those of the kernel and CNIs. */
export const RULE_PREFERENCES = { both: 450, target: 451, source: 452, none: 453 } as const;
export const FIRST_TABLE = 15_000_000;
/** One device for all neighbours of the tunnel: routes give the outer destination. */
export const TUNNEL = { device: "isochrone-vx", port: 8477, id: 150 } as const;
/** Size of outer IP and UDP headers and VXLAN's own, bytes. */
export const TUNNEL_HEADERS: Readonly<Record<IpFamily, number>> = { 4: 36, 6: 56 };
/** Each neighbour has two classes, by slot; flows use higher numbers. */
export const SLOTS = 2048;
export const FIRST_LINK_CLASS = 0x0100;
export const FIRST_REST_CLASS = FIRST_LINK_CLASS + SLOTS;
export const FIRST_FLOW_CLASS = 0x2000;
export const LAST_CLASS = 0xfffe;

export type Ports = keyof typeof RULE_PREFERENCES;

export function portsOf({ sourcePort, targetPort }: Match): Ports {
  if (sourcePort !== null) return targetPort === null ? "source" : "both";
  return targetPort === null ? "none" : "target";
}

export function matchKey({ protocol, source, sourcePort, target, targetPort }: Match): string {
  return [protocol, source, sourcePort ?? "-", target, targetPort ?? "-"].join(" ");
}

export function ruleKey({ match, table }: Rule): string {
  return `${matchKey(match)} ${table}`;
}

export function routeKey({ family, table }: Pick<Route, "family" | "table">): string {
  return `${family} ${table}`;
}

export function classId(minor: number): string {
  return `${HANDLE.toString(16)}:${minor.toString(16)}`;
}

export function minorOf(id: string): number | null {
  const [major, minor] = id.split(":");
  if (major === undefined || Number.parseInt(major, 16) !== HANDLE || !minor) return null;
  return Number.parseInt(minor, 16);
}

export function canonicalAddress(address: string): string {
  return address.includes(":") ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : address;
}

export function familyOf(address: string): IpFamily {
  return address.includes(":") ? 6 : 4;
}
