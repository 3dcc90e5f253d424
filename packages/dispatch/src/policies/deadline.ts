// Isochrone's dispatch: highest probability of being in time, minus prices.
import type { Draw } from "@isochrone/primitives";
import { chosen, CLOUD, cloudTrip, expectedWait, hosts, roundTrip, type Dispatcher } from "../dispatcher.ts";
import { DispatchError } from "../errors.ts";

interface DeadlineOptions {
  /** Price of a MB sent to the cloud, in requests; other sites cost 0.3 of it. @default 0.01 */
  readonly pricePerMb?: number;
}

const PRICE_PER_MB = 0.01;
const OTHER_SITE = 0.3;
const BACKLOG_PRICE = 0.05;
const WAIT_PRICE = 0.02;
const STEEPNESS = 6;
const TIE = 1e-3;

/** The greatest value wins, near ties at random, so that many dispatchers don't herd. */
export function deadline(draw: Draw, { pricePerMb = PRICE_PER_MB }: DeadlineOptions = {}): Dispatcher {
  return {
    name: "deadline",
    choose(request, view) {
      if (Number.isNaN(request.leftSeconds))
        throw new DispatchError("invalid_deadline", "leftSeconds", "must be a number", request.leftSeconds);
      const { workSeconds, payloadMb } = view.state.services[request.service]!;
      const toCloud = request.leftSeconds - cloudTrip(request, view) - workSeconds;
      const backlog = view.state.sites[request.site]!.uplinkBacklogSeconds;
      let best = chosen(CLOUD, { inTime: probability(toCloud, workSeconds), waitSeconds: 0 });
      let most = probability(toCloud, workSeconds) - pricePerMb * payloadMb - BACKLOG_PRICE * backlog;
      for (const node of hosts(request.service, view.state.nodes)) {
        const waitSeconds = expectedWait(request, node, view);
        const slack = request.leftSeconds - roundTrip(request, node, view) - waitSeconds - workSeconds;
        const inTime = probability(slack, workSeconds + waitSeconds);
        const bytes = node.site === request.site ? 0 : OTHER_SITE * pricePerMb * payloadMb;
        const value = inTime - WAIT_PRICE * (waitSeconds / workSeconds) - bytes + draw() * TIE;
        if (value <= most) continue;
        most = value;
        best = chosen(node.index, { inTime, waitSeconds });
      }
      return best;
    },
  };
}

function probability(slackSeconds: number, scaleSeconds: number): number {
  return 1 / (1 + Math.exp((-STEEPNESS * slackSeconds) / scaleSeconds));
}
