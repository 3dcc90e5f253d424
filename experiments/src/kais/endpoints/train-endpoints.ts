import { EndpointPolicy, EndpointTraining } from "@isochrone/dispatch/learned";
import { seeded, type Draw } from "@isochrone/primitives";
import { setImmediate } from "node:timers/promises";
import { drawnSystem, runEndpoints, type Chooser } from "./endpoint-system.ts";
import { shareInTime } from "./share-in-time.ts";

/** Systems per episode, mixed so that no update follows a single kind. */
const SYSTEMS = 8;
const REQUESTS = 400;
/** Price per endpoint in another zone, as in rule `deadline`. */
const FAR_PRICE = 0.01;
const EPISODE_SEEDS = 1_000_000;
/** Episodes between evaluations on separate systems. The best evaluation's weights are kept. */
const EPISODES_PER_LOOK = 20;
const LOOK = { seed: 77_000, systems: 30, requests: 1_500 };

interface TrainingOptions {
  readonly seed: number;
  /** Decisions to learn from; the last episode runs to its end. */
  readonly decisions: number;
  readonly signal: AbortSignal;
  /** @param inTime result of the latest evaluation; null before the first */
  readonly onProgress: (share: number, inTime: number | null) => void;
}

/** Returns the text of a weights file. Equal seeds give equal files. */
export async function trainEndpoints(options: TrainingOptions): Promise<string> {
  const { seed, signal, onProgress } = options;
  const policy = new EndpointPolicy(seed);
  const training = new EndpointTraining(policy, seed + 1);
  let best = { inTime: -1, text: "" };
  let inTime: number | null = null;
  let decisions = 0;
  for (let episode = 1; decisions < options.decisions; episode++) {
    signal.throwIfAborted();
    const draw = seeded(seed * EPISODE_SEEDS + episode);
    for (let system = 0; system < SYSTEMS; system++)
      runEndpoints(drawnSystem(draw), REQUESTS, learning(training, draw), draw);
    decisions += training.learn(draw);
    if (episode % EPISODES_PER_LOOK === 0 || decisions >= options.decisions) {
      inTime = shareInTime((candidates, ask, chance) => policy.choose(candidates, ask, chance)!, LOOK);
      const settings = { seed, episode, decisions, inTime, trainedOn: "drawn systems of endpoints" };
      if (inTime > best.inTime)
        best = {
          inTime,
          text: policy.text(settings),
        };
    }
    onProgress(decisions / options.decisions, inTime);
    await setImmediate();
  }
  return best.text;
}

function learning(training: EndpointTraining, draw: Draw): Chooser {
  return {
    choose(candidates, ask) {
      const { action, settle } = training.choose(candidates, ask, draw);
      const price = candidates[action]!.isFar ? FAR_PRICE : 0;
      return { at: action, settle: (isInTime) => settle((isInTime ? 1 : 0) - price) };
    },
  };
}
