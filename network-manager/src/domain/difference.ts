// Computes changes to reach the wanted state without ever leaving a flow without class or path: add, switch,
// then remove.
import type { HopMark, HtbClass, KernelState, Mark, OwnState, Route, Rule, Tunnel } from "./kernel-state.ts";

export type TrafficChange =
  | { readonly kind: "qdisc-add" | "qdisc-delete"; readonly device: string }
  | {
      readonly kind: "class-add" | "class-change" | "class-delete";
      readonly device: string;
      readonly htb: HtbClass;
    }
  | { readonly kind: "queue-add" | "queue-change"; readonly device: string; readonly htb: HtbClass };

export type MarkChange =
  | { readonly kind: "table-create" | "table-delete" }
  | { readonly kind: "mark-delete" | "mark-add"; readonly mark: Mark }
  | { readonly kind: "hop-delete" | "hop-add"; readonly hop: HopMark }
  | { readonly kind: "peer-delete" | "peer-add"; readonly address: string };

export type RoutingChange =
  | { readonly kind: "rule-add" | "rule-delete"; readonly rule: Rule }
  | { readonly kind: "route-set" | "route-delete"; readonly route: Route }
  | { readonly kind: "tunnel-add" | "tunnel-change" | "tunnel-delete"; readonly tunnel: Tunnel };

export type Step =
  | { readonly tool: "tc"; readonly changes: readonly TrafficChange[] }
  | { readonly tool: "nft"; readonly changes: readonly MarkChange[] }
  | { readonly tool: "ip"; readonly changes: readonly RoutingChange[] };

export function difference(kernel: KernelState, wanted: OwnState): readonly Step[] {
  const traffic = trafficChanges(kernel, wanted);
  const routing = routingChanges(kernel, wanted);
  const marks = markChanges(kernel, wanted);
  const steps: Step[] = [
    { tool: "tc", changes: traffic.before },
    // The tunnel must never exist without its filter.
    { tool: "nft", changes: marks.before },
    { tool: "ip", changes: routing.before },
    { tool: "nft", changes: marks.switch },
    { tool: "ip", changes: routing.after },
    { tool: "ip", changes: oldTunnel(kernel, wanted) },
    { tool: "nft", changes: marks.after },
    { tool: "tc", changes: traffic.after },
  ];
  return steps.filter(({ changes }) => changes.length > 0);
}

export function changesIn(steps: readonly Step[]): number {
  return steps.reduce((sum, { changes }) => sum + changes.length, 0);
}

interface Changes<T> {
  readonly before: readonly T[];
  readonly after: readonly T[];
}

function trafficChanges(kernel: KernelState, wanted: OwnState): Changes<TrafficChange> {
  const before: TrafficChange[] = [];
  const after: TrafficChange[] = [];
  for (const [device, classes] of wanted.devices) {
    const now = kernel.devices.get(device);
    if (now === undefined) before.push({ kind: "qdisc-add", device });
    before.push(...newClasses(device, now ?? new Map(), classes));
  }
  for (const [device, classes] of kernel.devices) {
    const kept = wanted.devices.get(device);
    if (kept === undefined) after.push({ kind: "qdisc-delete", device });
    else after.push(...oldClasses(device, classes, kept));
  }
  return { before, after };
}

type Classes = ReadonlyMap<number, HtbClass>;

function newClasses(device: string, now: Classes, wanted: Classes): TrafficChange[] {
  const changes: TrafficChange[] = [];
  for (const htb of parentsFirst(wanted)) {
    const has = now.get(htb.minor);
    if (has === undefined) changes.push({ kind: "class-add", device, htb });
    else if (!isAlike(has, htb)) changes.push({ kind: "class-change", device, htb });
    const queue = has?.queueBytes ?? null;
    if (htb.queueBytes === null || queue === htb.queueBytes) continue;
    changes.push({ kind: queue === null ? "queue-add" : "queue-change", device, htb });
  }
  return changes;
}

function isAlike(one: HtbClass, other: HtbClass): boolean {
  return (
    one.rateBitsPerSecond === other.rateBitsPerSecond &&
    one.ceilBitsPerSecond === other.ceilBitsPerSecond &&
    one.priority === other.priority
  );
}

function oldClasses(device: string, now: Classes, wanted: Classes): TrafficChange[] {
  return parentsFirst(now)
    .toReversed()
    .filter(({ minor }) => !wanted.has(minor))
    .map((htb) => ({ kind: "class-delete", device, htb }));
}

function parentsFirst(classes: Classes): HtbClass[] {
  const depth = (htb: HtbClass): number => (htb.parent === null ? 0 : 1);
  return [...classes.values()].toSorted((one, other) => depth(one) - depth(other));
}

function markChanges(
  kernel: KernelState,
  wanted: OwnState,
): Changes<MarkChange> & { readonly switch: readonly MarkChange[] } {
  const isWanted = wanted.marks.size + wanted.hops.size > 0 || wanted.tunnel !== null;
  const none = { before: [], switch: [], after: [] };
  if (!isWanted) return kernel.table === "absent" ? none : { ...none, after: [{ kind: "table-delete" }] };
  const isSound = kernel.table === "sound";
  const marks = changed(isSound ? kernel.marks : new Map<string, Mark>(), wanted.marks);
  const hops = changed(isSound ? kernel.hops : new Map<string, HopMark>(), wanted.hops);
  const had = isSound ? kernel.peers : new Set<string>();
  const peers = {
    old: [...had].filter((address) => !wanted.peers.has(address)),
    new: [...wanted.peers].filter((address) => !had.has(address)),
  };
  const newPeers = peers.new.map((address) => ({ kind: "peer-add", address }) as const);
  const turned = [
    ...marks.old.map((mark) => ({ kind: "mark-delete", mark }) as const),
    ...hops.old.map((hop) => ({ kind: "hop-delete", hop }) as const),
    ...marks.new.map((mark) => ({ kind: "mark-add", mark }) as const),
    ...hops.new.map((hop) => ({ kind: "hop-add", hop }) as const),
  ];
  // A new table is complete at once, so that no flow loses its mark.
  if (!isSound) return { ...none, before: [{ kind: "table-create" }, ...newPeers, ...turned] };
  const after = peers.old.map((address) => ({ kind: "peer-delete", address }) as const);
  return { before: newPeers, switch: turned, after };
}

function changed<T extends { readonly minor: number }>(
  has: ReadonlyMap<string, T>,
  wanted: ReadonlyMap<string, T>,
): { readonly old: readonly T[]; readonly new: readonly T[] } {
  const without = (all: ReadonlyMap<string, T>, others: ReadonlyMap<string, T>): T[] =>
    [...all].flatMap(([key, each]) => (others.get(key)?.minor === each.minor ? [] : [each]));
  return { old: without(has, wanted), new: without(wanted, has) };
}

function routingChanges(kernel: KernelState, wanted: OwnState): Changes<RoutingChange> {
  const before = newTunnel(kernel, wanted);
  const after: RoutingChange[] = [];
  for (const [key, route] of wanted.routes) {
    const has = kernel.routes.get(key);
    if (has?.gateway !== route.gateway || has.device !== route.device)
      before.push({ kind: "route-set", route });
  }
  for (const [key, rule] of wanted.rules) if (!kernel.rules.has(key)) after.push({ kind: "rule-add", rule });
  // The kernel applies the older of two equal rules, so removing it switches to the new one.
  for (const [key, rule] of kernel.rules)
    if (!wanted.rules.has(key)) after.push({ kind: "rule-delete", rule });
  for (const [key, route] of kernel.routes)
    if (!wanted.routes.has(key)) after.push({ kind: "route-delete", route });
  return { before, after };
}

function newTunnel({ tunnel: has }: KernelState, { tunnel }: OwnState): RoutingChange[] {
  if (tunnel === null || has?.mtu === tunnel.mtu) return [];
  return [{ kind: has === null ? "tunnel-add" : "tunnel-change", tunnel }];
}

function oldTunnel({ tunnel: has }: KernelState, { tunnel }: OwnState): RoutingChange[] {
  return has !== null && tunnel === null ? [{ kind: "tunnel-delete", tunnel: has }] : [];
}
