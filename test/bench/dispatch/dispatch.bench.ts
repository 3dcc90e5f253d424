// CPU time of routing decisions by rule and by neural network, and of an orchestration frame.
import {
  AS_PRINTED,
  Cmmac,
  deadline,
  forecast,
  Gpg,
  GPG_AS_PRINTED,
  type Dispatcher,
  type Orchestrator,
} from "@isochrone/dispatch";
import { frame, request, system, viewOf } from "@isochrone/dispatch/testing";
import { quantile, seeded } from "@isochrone/primitives";
import { cpuMs } from "../streams/problems.ts";
import type { BenchResult } from "../types.ts";

const DECISIONS = 2_000;
const WARM_UP = 500;
const FRAMES = 20;
const SERVICES = 30;
const SHAPE = { sites: 5, nodesPerSite: 8, services: SERVICES };

export async function run(): Promise<BenchResult[]> {
  const draw = seeded(1);
  const rule = deadline(draw);
  const options = AS_PRINTED;
  const learned = new Cmmac({ shape: SHAPE, options, seed: 1, draw });
  const gpg = new Gpg({ services: SERVICES, options: GPG_AS_PRINTED, seed: 1, draw });
  return [
    below("dispatch by rule among 400 endpoints, p99", dispatchMs(rule, cluster(5, 80, SERVICES)), 1),
    below("dispatch by rule among 4,000 endpoints, p99", dispatchMs(rule, cluster(5, 800, SERVICES)), 10),
    below("dispatch by net, 40 nodes, p99", dispatchMs(learned, cluster(5, 8, SERVICES)), 1),
    below("orchestration by net, 40 nodes, largest of 20", frameMs(gpg, cluster(5, 8, SERVICES)), 50),
    below(
      "orchestration by forecast, 1,000 services in 20 zones with room, largest of 20",
      frameMs(forecast(), cluster(20, 1, 1_000)),
      1_000,
    ),
    below(
      "orchestration by forecast, 1,000 services in 20 full zones, largest of 20",
      frameMs(forecast(), cluster(20, 1, 1_000, 0.49)),
      1_000,
    ),
  ];
}

type System = ReturnType<typeof system>;

/** @param gbPerService a replica takes 0.25, and each service has two per node on average */
function cluster(sites: number, nodesPerSite: number, services: number, gbPerService = 1): System {
  const draw = seeded(sites * nodesPerSite);
  const each = (count: () => number): number[] => Array.from({ length: services }, count);
  return system({
    services: Array.from({ length: services }, () => ({ memoryGb: 0.25 })),
    nodes: Array.from({ length: sites * nodesPerSite }, (_, at) => ({
      site: at % sites,
      cores: 64,
      memoryGb: services * gbPerService,
      ready: each(() => 1 + Math.floor(draw() * 3)),
      busy: each(() => Math.floor(draw() * 2)),
      waiting: each(() => Math.floor(draw() * 3)),
    })),
  });
}

function dispatchMs(dispatcher: Dispatcher, state: System): number {
  const draw = seeded(7);
  const times: number[] = [];
  for (let at = 0; at < WARM_UP + DECISIONS; at++) {
    const service = Math.floor(draw() * state.services.length);
    const site = Math.floor(draw() * state.sites.length);
    const asked = request(1 + 3 * draw(), { id: at, service, site });
    const view = viewOf(state, service);
    const began = cpuMs();
    dispatcher.choose(asked, view);
    if (at >= WARM_UP) times.push(cpuMs() - began);
  }
  return quantile(times, 0.99)!;
}

function frameMs(orchestrator: Orchestrator, state: System): number {
  const draw = seeded(9);
  const times = Array.from({ length: FRAMES }, () => {
    const arrivals = state.services.map(() => 80 * draw());
    const view = frame(state, { arrivals });
    const began = cpuMs();
    orchestrator.decide(view);
    return cpuMs() - began;
  });
  return Math.max(...times);
}

function below(name: string, value: number, target: number): BenchResult {
  return { name, value, unit: "ms of CPU", target: `< ${target}`, met: value < target };
}
