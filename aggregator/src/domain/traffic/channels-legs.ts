// A request through a waypoint is reported three times: by the waypoint as a whole (client -> server), and
// per hop by ztunnels (client -> waypoint at the client's end, waypoint -> server at the server's). The hops
// must not count in addition.
import type { ChannelEnd } from "./channel-ends.ts";
import { isOutside, type ChannelKey, type Reporter } from "../channel-key.ts";
import type { WindowName } from "../windows/window-shape.ts";

interface ReportedChannel {
  readonly key: ChannelKey;
  covers(reporter: Reporter, nowMs: number, window: WindowName): boolean;
  binds(reporter: Reporter, end: ChannelEnd): boolean;
}

/**
 * Finds the hops among `channels`. Metrics do not mark waypoints, but ztunnel does not capture their pods, so
 * nobody reports at a waypoint's end. W is a waypoint between S and D if a waypoint reports S -> D, only the
 * source reports S -> W, and only the destination reports W -> D. The report must be trusted: W is in D's or
 * the mesh's namespace. The first hop is hidden only where S sees the whole channel.
 * @param throughWaypoints all channels that a waypoint has ever reported
 * @param meshNamespaces namespaces whose waypoints may serve other namespaces
 */
export function legsThroughWaypoints<C extends ReportedChannel>(
  throughWaypoints: Iterable<C>,
  channels: readonly C[],
  nowMs: number,
  window: WindowName,
  meshNamespaces: ReadonlySet<string> = new Set(),
): ReadonlySet<C> {
  const legs = new Set<C>();
  const whole = [...throughWaypoints].filter((channel) => channel.covers("waypoint", nowMs, window));
  if (whole.length === 0) return legs;
  const only = (channel: C, reporter: Reporter, other: Reporter): boolean =>
    channel.covers(reporter, nowMs, window) &&
    !channel.covers(other, nowMs, window) &&
    !channel.covers("waypoint", nowMs, window);
  const into = grouped(
    channels.filter((channel) => !isOutside(channel.key) && only(channel, "source", "destination")),
    sourceOf,
  );
  const outOf = new Map(
    channels
      .filter((channel) => only(channel, "destination", "source"))
      .map((channel) => [`${sourceOf(channel)}\n${targetOf(channel)}`, channel]),
  );
  for (const channel of whole) {
    for (const first of into.get(sourceOf(channel)) ?? []) {
      const second = outOf.get(`${targetOf(first)}\n${targetOf(channel)}`);
      if (second === undefined) continue;
      const { sourceNamespace: waypoint, targetNamespace: server } = second.key;
      if (waypoint !== server && !meshNamespaces.has(waypoint)) continue;
      if (channel.binds("waypoint", "source")) legs.add(first);
      legs.add(second);
    }
  }
  return legs;
}

function sourceOf({ key }: ReportedChannel): string {
  return `${key.sourceNamespace}/${key.source}`;
}

function targetOf({ key }: ReportedChannel): string {
  return `${key.targetNamespace}/${key.target}`;
}

function grouped<C>(channels: readonly C[], by: (channel: C) => string): ReadonlyMap<string, C[]> {
  const groups = new Map<string, C[]>();
  for (const channel of channels) {
    const id = by(channel);
    const group = groups.get(id);
    if (group === undefined) groups.set(id, [channel]);
    else group.push(channel);
  }
  return groups;
}
