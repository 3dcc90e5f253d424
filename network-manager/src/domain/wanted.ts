import type { FlowNeighbour, FlowPlan, PlannedFlow } from "@isochrone/topology";
import { FlowClasses } from "./flow-classes.ts";
import {
  canonicalAddress,
  familyOf,
  FIRST_LINK_CLASS,
  FIRST_REST_CLASS,
  FIRST_TABLE,
  matchKey,
  routeKey,
  ruleKey,
  TUNNEL,
  TUNNEL_HEADERS,
  type HopMark,
  type HtbClass,
  type KernelState,
  type Mark,
  type Match,
  type OwnState,
  type Route,
  type Rule,
  type Way,
} from "./kernel-state.ts";
import { LinkShare } from "./link-share.ts";
import { queueBytesOf, shownRate } from "./rates.ts";
import { slotsOf } from "./slots.ts";

export type ActiveMode = "guarantee" | "shape" | "route";

export const UNMET_REASONS = [
  "neighbour_unreachable",
  "neighbour_is_here",
  "foreign_qdisc",
  /** A minimum rate needs the link's capacity. */
  "capacity_unknown",
  /** The link's flows exceed its capacity, which reduces this flow's guarantee. */
  "capacity_exceeded",
  /** The plan's path differs from the kernel's, and the mode sets no routes. */
  "not_routed",
  "foreign_device",
  "reverse_path_filter",
  "ip_family",
  "not_forwarding",
  /** Missing in the kernel despite a successful change. */
  "not_in_kernel",
] as const;
type UnmetReason = (typeof UNMET_REASONS)[number];

interface FlowPlace {
  readonly device: string;
  readonly minor: number;
  readonly ceilBitsPerSecond: number;
  readonly rule: string | null;
}

/** Result for one flow of the plan on this node. */
export interface FlowPlacement {
  readonly flow: PlannedFlow;
  readonly place: FlowPlace | null;
  /** Null: as planned, or the flow ends here. A cut flow has both a reason and a place. */
  readonly unmet: { readonly reason: UnmetReason; readonly text: string } | null;
}

export interface Wanted {
  readonly state: OwnState;
  readonly flows: readonly FlowPlacement[];
}

interface Link {
  readonly neighbour: FlowNeighbour;
  readonly address: string;
  readonly slot: number;
  /** Null: unknown. In tc's precision. */
  readonly capacity: number | null;
  readonly way: Way | null;
}

class Refusal {
  readonly reason: UnmetReason;
  readonly text: string;

  constructor(reason: UnmetReason, text: string) {
    this.reason = reason;
    this.text = text;
  }
}

/** Derives the wanted state. Flows keep their class numbers if possible. */
export function wantedState(plan: FlowPlan, mode: ActiveMode, kernel: KernelState): Wanted {
  const links = linksOf(plan, kernel);
  const judged = plan.flows.map((flow) => ({ flow, link: judge(flow, links, mode, kernel) }));
  const shares = sharesOf(judged);
  const builder = new Builder(mode, kernel, shares);
  const flows = judged.map(({ flow, link }): FlowPlacement => {
    if (link instanceof Refusal) return { flow, place: null, unmet: link };
    if (mode === "route") builder.receive(flow, links);
    if (link === null) return { flow, place: null, unmet: null };
    return { flow, place: builder.add(flow, link), unmet: cutOf(flow, link, shares) };
  });
  return { state: builder.build(), flows };
}

function linksOf(plan: FlowPlan, { ways }: KernelState): ReadonlyMap<string, Link> {
  const slots = slotsOf(plan.neighbours.map(({ address }) => canonicalAddress(address)));
  return new Map(
    plan.neighbours.map((neighbour) => {
      const address = canonicalAddress(neighbour.address);
      const capacity = neighbour.capacityBitsPerSecond;
      return [
        neighbour.node,
        {
          neighbour,
          address,
          slot: slots.get(address)!,
          capacity: capacity === null ? null : shownRate(capacity),
          way: ways.get(address) ?? null,
        },
      ];
    }),
  );
}

function judge(
  flow: PlannedFlow,
  links: ReadonlyMap<string, Link>,
  mode: ActiveMode,
  kernel: KernelState,
): Link | Refusal | null {
  const unheard = mode === "route" ? unheardOf(flow, links, kernel) : null;
  if (unheard !== null || flow.next === null) return unheard;
  const link = links.get(flow.next)!;
  const { way, neighbour, address } = link;
  const subject = `${neighbour.node} (${address})`;
  if (way === null) return new Refusal("neighbour_unreachable", `no route to ${subject}`);
  if (way.isLocal) return new Refusal("neighbour_is_here", `${subject} is this node's own address`);
  const root = kernel.roots.get(way.device);
  if (root?.owner === "other")
    return new Refusal("foreign_qdisc", `${way.device} has the root qdisc ${root.name}, which stays`);
  if (isFloor(flow, mode) && link.capacity === null)
    return new Refusal("capacity_unknown", `the capacity of the link to ${subject} is unknown`);
  return (flow.routed ? routingRefusal(flow, link, mode, kernel) : null) ?? link;
}

/** A declared minBandwidth never limits a flow. */
function isFloor({ owner }: PlannedFlow, mode: ActiveMode): boolean {
  return mode === "guarantee" || owner.kind === "AppGroup";
}

function routingRefusal(
  flow: PlannedFlow,
  link: Link,
  mode: ActiveMode,
  kernel: KernelState,
): Refusal | null {
  const { neighbour, address } = link;
  const subject = `${neighbour.node} (${address})`;
  if (mode !== "route") return new Refusal("not_routed", `mode ${mode} sets no path over ${subject}`);
  const family = familyOf(flow.source.address);
  if (family !== familyOf(address))
    return new Refusal("ip_family", `the flow is IPv${family}, the address of ${subject} isn't`);
  if (isBehindRouter(link) && isTunnelForeign(kernel)) return TUNNEL_TAKEN;
  if (flow.previous !== null && !kernel.forwards[family])
    return new Refusal("not_forwarding", `this node doesn't forward IPv${family}`);
  return null;
}

const TUNNEL_TAKEN = new Refusal(
  "foreign_device",
  `${TUNNEL.device} is a device of somebody else, which stays`,
);

function isTunnelForeign({ tunnel, mtus }: KernelState): boolean {
  return tunnel === null && mtus.has(TUNNEL.device);
}

/** Whether traffic with the neighbour uses the tunnel. */
function isBehindRouter({ way }: Link): boolean {
  return way !== null && way.gateway !== null && !way.isLocal;
}

function tunnelledFrom({ routed, previous }: PlannedFlow, links: ReadonlyMap<string, Link>): Link | null {
  const link = routed && previous !== null ? links.get(previous) : undefined;
  return link !== undefined && isBehindRouter(link) ? link : null;
}

function unheardOf(flow: PlannedFlow, links: ReadonlyMap<string, Link>, kernel: KernelState): Refusal | null {
  const link = tunnelledFrom(flow, links);
  if (link !== null && isTunnelForeign(kernel)) return TUNNEL_TAKEN;
  if (link === null || !kernel.isStrict || familyOf(flow.source.address) === 6) return null;
  const rule = "rp_filter of all and default must be 0 or 2, got 1";
  return new Refusal(
    "reverse_path_filter",
    `${rule}: packets that ${flow.previous} sends by ${TUNNEL.device} would be dropped`,
  );
}

type Judged = { readonly flow: PlannedFlow; readonly link: Link | Refusal | null };

type Shares = ReadonlyMap<number, LinkShare>;

function sharesOf(judged: readonly Judged[]): Shares {
  const bySlot = new Map<number, { readonly capacity: number; readonly flows: PlannedFlow[] }>();
  for (const { flow, link } of judged) {
    if (link === null || link instanceof Refusal || link.capacity === null) continue;
    const { slot, capacity } = link;
    const known = bySlot.get(slot);
    if (known === undefined) bySlot.set(slot, { capacity, flows: [flow] });
    else known.flows.push(flow);
  }
  return new Map(
    [...bySlot].map(([slot, { capacity, flows }]) => [slot, new LinkShare(capacity, flows)] as const),
  );
}

function cutOf(flow: PlannedFlow, { slot, capacity, neighbour }: Link, shares: Shares): Refusal | null {
  const share = shares.get(slot);
  if (share === undefined || !share.isCut(flow)) return null;
  return new Refusal(
    "capacity_exceeded",
    `flows to ${neighbour.node} must have at most ${capacity} bit/s together, got ${share.plannedBitsPerSecond}; ` +
      `this one is promised ${share.promised(flow)} of ${flow.bitsPerSecond}`,
  );
}

const FLOW_PRIORITY = 0;
const REST_PRIORITY = 7;

class Builder {
  readonly #mode: ActiveMode;
  readonly #numbers: FlowClasses;
  readonly #shares: Shares;
  readonly #devices = new Map<string, Map<number, HtbClass>>();
  readonly #marks = new Map<string, Mark>();
  readonly #rules = new Map<string, Rule>();
  readonly #routes = new Map<string, Route>();
  readonly #links = new Map<number, Link>();
  readonly #mtus: KernelState["mtus"];
  readonly #peers = new Set<string>();
  #tunnel: OwnState["tunnel"] = null;

  constructor(mode: ActiveMode, kernel: KernelState, shares: Shares) {
    this.#mode = mode;
    this.#shares = shares;
    this.#mtus = kernel.mtus;
    this.#numbers = new FlowClasses(kernel);
  }

  add(flow: PlannedFlow, link: Link): FlowPlace {
    this.#links.set(link.slot, link);
    const match = matchOf(flow);
    const { device } = link.way!;
    const parent = link.capacity === null ? null : FIRST_LINK_CLASS + link.slot;
    const planned = shownRate(flow.bitsPerSecond);
    const rate = this.#shares.get(link.slot)?.promised(flow) ?? planned;
    // Flows with a minimum may borrow without a bound, capped ones up to their planned rate.
    const ceil = isFloor(flow, this.#mode) ? link.capacity! : Math.min(planned, link.capacity ?? planned);
    const minor = this.#numbers.numberFor(match, device, parent);
    this.#class(device, leaf(minor, parent, rate, ceil, FLOW_PRIORITY));
    this.#marks.set(matchKey(match), { match, minor });
    const rule = flow.routed && this.#mode === "route" ? this.#route(match, link) : null;
    return { device, minor, ceilBitsPerSecond: ceil, rule };
  }

  receive(flow: PlannedFlow, links: ReadonlyMap<string, Link>): void {
    const link = tunnelledFrom(flow, links);
    if (link === null) return;
    this.#useTunnel(link);
    this.#peers.add(link.address);
  }

  build(): OwnState {
    const hops = new Map<string, HopMark>();
    for (const { slot, capacity, address, way } of this.#links.values()) {
      if (capacity === null) continue;
      const { device } = way!;
      const parent = FIRST_LINK_CLASS + slot;
      const rest = this.#shares.get(slot)!.restBitsPerSecond;
      this.#class(device, { ...leaf(parent, null, capacity, capacity, FLOW_PRIORITY), queueBytes: null });
      const minor = FIRST_REST_CLASS + slot;
      this.#class(device, leaf(minor, parent, rest, capacity, REST_PRIORITY));
      hops.set(address, { family: familyOf(address), address, minor });
    }
    const [devices, marks, rules, routes] = [this.#devices, this.#marks, this.#rules, this.#routes];
    return { devices, marks, hops, rules, routes, tunnel: this.#tunnel, peers: this.#peers };
  }

  #class(device: string, htb: HtbClass): void {
    const classes = this.#devices.get(device) ?? new Map<number, HtbClass>();
    this.#devices.set(device, classes.set(htb.minor, htb));
  }

  #route(match: Match, link: Link): string {
    const { slot, address, way } = link;
    const table = FIRST_TABLE + slot;
    const isTunnelled = isBehindRouter(link);
    if (isTunnelled) this.#useTunnel(link);
    const device = isTunnelled ? TUNNEL.device : way!.device;
    const route = { family: match.family, table, gateway: address, device };
    this.#routes.set(routeKey(route), route);
    const rule = { match, table };
    this.#rules.set(ruleKey(rule), rule);
    return ruleKey(rule);
  }

  /** Sized for each used link, so that outer packets are never fragmented. */
  #useTunnel({ way, address }: Link): void {
    const mtu = (this.#mtus.get(way!.device) ?? USUAL_MTU) - TUNNEL_HEADERS[familyOf(address)];
    this.#tunnel = { mtu: Math.min(mtu, this.#tunnel?.mtu ?? mtu) };
  }
}

const USUAL_MTU = 1500;

function leaf(minor: number, parent: number | null, rate: number, ceil: number, priority: number): HtbClass {
  return {
    minor,
    parent,
    rateBitsPerSecond: rate,
    ceilBitsPerSecond: ceil,
    priority,
    queueBytes: queueBytesOf(ceil),
  };
}

function matchOf({ protocol, source, target }: PlannedFlow): Match {
  return {
    family: familyOf(source.address),
    protocol,
    source: canonicalAddress(source.address),
    sourcePort: source.port,
    target: canonicalAddress(target.address),
    targetPort: target.port,
  };
}
