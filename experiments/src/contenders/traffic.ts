// What is observed of traffic: a channel for each pair of workloads, and users whose requests come in at a
// node, as through an ingress there: its traffic is seen like any other, and it stays where it is.
import type { PointWorkflow } from "../scenario/model.ts";
import type { ObservedChannel } from "./port.ts";

/** Several calls of one workload to another are one channel, as meshes and traces count them. */
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

/** The ingress, in graphs. */
export const USERS = "users";

/**
 * From the ingress to the entry; none where users are beside the entry. Their messages have no size in
 * scenarios: as large as calls are on average.
 */
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
