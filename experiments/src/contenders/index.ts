import type { ContenderId } from "../scenario/model.ts";
import { AffinityContender } from "./affinity.ts";
import { DefaultContender } from "./default.ts";
import type { ContenderDeps } from "./deps.ts";
import { IsochroneContender } from "./isochrone.ts";
import { OptimumContender } from "./optimum.ts";
import { PaperContender } from "./paper.ts";
import type { Contender } from "./port.ts";
import { UpstreamContender } from "./upstream.ts";

export type { ContenderDeps, ProductSettings } from "./deps.ts";
export type { KubeScheduler, SchedulableNode, SchedulingRequest, WaitingPod } from "./kube-scheduler/port.ts";

export function createContender(id: ContenderId, deps: ContenderDeps): Contender {
  switch (id) {
    case "default":
    case "null":
      return new DefaultContender(id, deps);
    case "paper":
    case "paper-scaled":
      return new PaperContender(id);
    case "affinity":
      return new AffinityContender();
    case "upstream":
      return new UpstreamContender();
    case "isochrone":
      return new IsochroneContender(deps);
    case "optimum":
      return new OptimumContender(deps);
    default:
      throw new TypeError(`no contender ${String(id satisfies never)}`);
  }
}
