// What the manager has, or wants to have, in the kernel of its node. Everything here is its own: what belongs
// to others is neither read into this nor ever named in a change.

type Protocol = "tcp" | "udp";
export type IpFamily = 4 | 6;

/** Which packets are of a flow. Addresses are in the kernel's own spelling; a null port is any. */
export interface Match {
  readonly family: IpFamily;
  readonly protocol: Protocol;
  readonly source: string;
  readonly sourcePort: number | null;
  readonly target: string;
  readonly targetPort: number | null;
}

/** A class of HTB below the manager's root qdisc. */
export interface HtbClass {
  readonly minor: number;
  /** Null: the root qdisc itself. */
  readonly parent: number | null;
  /** Multiples that tc can show, see `shownRate`. Bits per second. */
  readonly rateBitsPerSecond: number;
  readonly ceilBitsPerSecond: number;
  /** Who borrows first; lower ones do. */
  readonly priority: number;
  /** Length of its queue, bytes; null: it has classes of its own below it. */
  readonly queueBytes: number | null;
}

/** Packets of the flow go into the class. */
export interface Mark {
  readonly match: Match;
  readonly minor: number;
}

/** Packets that no flow has, and that go to the neighbour, go into the class. */
export interface HopMark {
  readonly family: IpFamily;
  readonly address: string;
  readonly minor: number;
}

/** Packets of the flow are routed by the table. */
export interface Rule {
  readonly match: Match;
  readonly table: number;
}

/** The table's default route. By the tunnel, the gateway is where its outer packets go. */
export interface Route {
  readonly family: IpFamily;
  readonly table: number;
  readonly gateway: string;
  readonly device: string;
}

/** The device that carries packets to neighbours behind routers: VXLAN with bare IP packets inside (GPE). */
export interface Tunnel {
  /** Longest packet inside, bytes; 0: it can't be used as it is. */
  readonly mtu: number;
}

/** The manager's objects, by the keys that the functions below make. */
export interface OwnState {
  /** Devices that have the manager's root qdisc, with their classes by minor number. */
  readonly devices: ReadonlyMap<string, ReadonlyMap<number, HtbClass>>;
  readonly marks: ReadonlyMap<string, Mark>;
  readonly hops: ReadonlyMap<string, HopMark>;
  readonly rules: ReadonlyMap<string, Rule>;
  readonly routes: ReadonlyMap<string, Route>;
  /** Null: there is none. */
  readonly tunnel: Tunnel | null;
  /** Addresses whose packets are let into the tunnel; those of all others are dropped. */
  readonly peers: ReadonlySet<string>;
}

/** How the nft table is. Damaged: somebody changed its chain or maps. */
export type TableState = "absent" | "sound" | "damaged";

/** What one class has carried since it was made. */
export interface ClassCounters {
  readonly sentBytes: number;
  readonly droppedPackets: number;
  /** Waiting in its queue now. */
  readonly queuedPackets: number;
}

/** Whose the root qdisc of a device is. */
export interface RootQdisc {
  readonly owner: "kernel" | "manager" | "other";
  /** As tc names it, such as `fq 8001:`. */
  readonly name: string;
}

/** How the kernel reaches a neighbour by itself. */
export interface Way {
  readonly device: string;
  /** Null: the neighbour is on the device's own link. */
  readonly gateway: string | null;
  /** The address is one of this node's own. */
  readonly isLocal: boolean;
}

/** What was read from the kernel at one time. */
export interface KernelState extends OwnState {
  readonly table: TableState;
  /** Of all devices. */
  readonly roots: ReadonlyMap<string, RootQdisc>;
  /** By address, as asked; what can't be reached is absent. */
  readonly ways: ReadonlyMap<string, Way>;
  /** Whether the kernel forwards packets of the family. */
  readonly forwards: Readonly<Record<IpFamily, boolean>>;
  /** Whether tunnelled packets are dropped unless answers would take the tunnel, too (RFC 3704, strict). */
  readonly isStrict: boolean;
  /** Longest packets, bytes, by device. */
  readonly mtus: ReadonlyMap<string, number>;
  /** Packets to the tunnel's port that weren't let in since the table was made. */
  readonly refusedPackets: number;
  /** By device and minor number. */
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

/** Major number of the manager's root qdisc. */
export const HANDLE = 0x15c0;
/** Who wrote a route or a rule, as `ip` calls it. Up to 255; not in use by any known daemon. */
export const ROUTE_PROTOCOL = 150;
/**
 * By how much of the ports a rule says: the more, the sooner it is asked. Sooner than the kernel's own and
 * those of CNIs.
 */
export const RULE_PREFERENCES = { both: 450, target: 451, source: 452, none: 453 } as const;
/** Routing tables, one for a neighbour. */
export const FIRST_TABLE = 15_000_000;
/** One device to a node, by which it sends to all such neighbours: each route says where to. */
export const TUNNEL = { device: "isochrone-vx", port: 8477, id: 150 } as const;
/** Outer headers of IP and UDP, and VXLAN's own. Bytes. */
export const TUNNEL_HEADERS: Readonly<Record<IpFamily, number>> = { 4: 36, 6: 56 };
/** Neighbours have two classes each, by their slot; flows have the numbers above. */
export const SLOTS = 2048;
export const FIRST_LINK_CLASS = 0x0100;
export const FIRST_REST_CLASS = FIRST_LINK_CLASS + SLOTS;
export const FIRST_FLOW_CLASS = 0x2000;
export const LAST_CLASS = 0xfffe;

export type Ports = keyof typeof RULE_PREFERENCES;

/** Which ports the match names. */
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

/** The minor number as tc writes it, below the manager's handle. */
export function classId(minor: number): string {
  return `${HANDLE.toString(16)}:${minor.toString(16)}`;
}

/** The minor number of a class below the manager's handle; null for any other. */
export function minorOf(id: string): number | null {
  const [major, minor] = id.split(":");
  if (major === undefined || Number.parseInt(major, 16) !== HANDLE || !minor) return null;
  return Number.parseInt(minor, 16);
}

/** An IP address as the kernel's tools spell it. */
export function canonicalAddress(address: string): string {
  return address.includes(":") ? new URL(`http://[${address}]/`).hostname.slice(1, -1) : address;
}

export function familyOf(address: string): IpFamily {
  return address.includes(":") ? 6 : 4;
}
