// Observed traffic: one channel per pair of workloads, plus users. Their requests enter at a node, like an
// ingress there; that traffic is observed and never moves.
import type { PointWorkflow } from "../scenario/model.ts";
import type { ObservedChannel } from "./port.ts";

/** Merges several calls between two workloads into one channel, as meshes and traces do. */
export function mergedChannels(calls: readonly ObservedChannel[]): ObservedChannel[] {
  const channels = new Map<string, ObservedChannel>();
  for (const call of calls) {
    const key = JSON.stringify([call.source, call.target]);
    const known = channels.get(key);
    channels.set(
      key,
      known === undefined
        ? call
        : {
            ...known,
            requestsPerSecond: known.requestsPerSecond + call.requestsPerSecond,
            bytesPerSecond: known.bytesPerSecond + call.bytesPerSecond,
          },
    );
  }
  return [...channels.values()];
}

export const USERS = "users";

/** From the ingress to the entry; none if users are beside it. Message size: mean of all calls. */
export function usersChannel(
  { usersAt, entry }: PointWorkflow,
  requestsPerSecond: number,
  traffic: readonly ObservedChannel[],
): ObservedChannel[] {
  if (usersAt === null) return [];
  const requests = traffic.reduce((sum, channel) => sum + channel.requestsPerSecond, 0);
  const bytes = traffic.reduce((sum, channel) => sum + channel.bytesPerSecond, 0);
  const bytesPerSecond = requests === 0 ? requestsPerSecond : (requestsPerSecond * bytes) / requests;
  return [{ source: USERS, target: entry, requestsPerSecond, bytesPerSecond }];
}
