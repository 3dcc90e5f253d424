import type { Draw } from "@isochrone/primitives";
import { chosen, CLOUD, cloudTrip, expectedWait, hosts, roundTrip, type Dispatcher } from "../dispatcher.ts";

const TIE = 1e-6;

/**
 * Central assignment at least cost, after Firmament (Gog et al., OSDI 2016). Assigns a slot's requests one by
 * one, each at the least response time, which equals the minimum-cost flow if they belong to different
 * services.
 */
export function firmament(draw: Draw): Dispatcher {
  return {
    name: "firmament",
    choose(request, view) {
      const { workSeconds } = view.state.services[request.service]!;
      const { cores, freeCores, queueLength } = view.state.cloud;
      const isFull = freeCores < view.state.services[request.service]!.cores;
      const queue = isFull ? (queueLength / cores) * workSeconds : 0;
      let best: number | typeof CLOUD = CLOUD;
      let least = cloudTrip(request, view) + queue + workSeconds;
      for (const node of hosts(request.service, view.state.nodes)) {
        const wait = expectedWait(request, node, view);
        const seconds = wait + roundTrip(request, node, view) + workSeconds + draw() * TIE;
        if (seconds < least) [best, least] = [node.index, seconds];
      }
      return chosen(best, { seconds: least });
    },
  };
}
