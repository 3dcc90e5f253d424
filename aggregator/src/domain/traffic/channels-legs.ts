// A request through a waypoint is reported three times: whole by the waypoint (client -> server), and hop by
// hop by the ztunnels, which see connections only (client -> waypoint at the client's end, waypoint -> server
// at the server's). The hops must not count beside the whole.
import type { ChannelEnd } from "./channel-ends.ts";
import { isOutside, type ChannelKey, type Reporter } from "../channel-key.ts";
import type { WindowName } from "../windows/window-shape.ts";

/** What is asked of a channel here. */
interface ReportedChannel {
  readonly key: ChannelKey;
  covers(reporter: Reporter, nowMs: number, window: WindowName): boolean;
  binds(reporter: Reporter, end: ChannelEnd): boolean;
}

/**
 * The hops among `channels`. Metrics don't tell which workload is a waypoint, but a waypoint's pods are
 * outside the capture of ztunnel, so nobody at its own end reports. W is one on the way from S to D when a
 * waypoint reports S -> D, S -> W is reported by its source alone, and W -> D by its destination alone.
 * Whoever says so must be believed: W is of D's namespace or of the mesh's, and the first hop is hidden only
 * where the whole is shown to S, too.
 * @param throughWaypoints all channels that a waypoint has ever reported
 * @param meshNamespaces namespaces whose waypoints may stand before workloads of others
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
