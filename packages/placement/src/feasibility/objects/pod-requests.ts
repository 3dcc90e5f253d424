// As PodRequests of k8s.io/component-helpers/resource (sidecars: KEP-753, pod-level resources: KEP-2837,
// in-place resize: KEP-1287).
import {
  addAmounts,
  exactAmounts,
  raiseAmounts,
  wholeUnits,
  type Amounts,
  type ExactAmounts,
} from "./amounts.ts";
import type { Container, ContainerStatus, PodSpec, PodStatus } from "./fields.ts";
import { record, records, text, type ApiObject } from "./json.ts";

interface PodRequests {
  readonly requests: Amounts;
  /** For LeastAllocated: adds defaults for containers without requests. */
  readonly scored: Amounts;
}

/** Defaults in kube-scheduler's pkg/scheduler/util/pod_resources.go. */
const SCORED_DEFAULTS: ExactAmounts = exactAmounts({ cpu: "100m", memory: "200Mi" });
const NO_DEFAULTS: ExactAmounts = new Map();

const MAX_KNOWN = 10_000;
/** Longer keys aren't cached: they would take more memory than the pods. */
const MAX_KEY_CHARACTERS = 8_192;
const known = new Map<string, PodRequests>();

/**
 * The larger of running containers and init steps, or pod-level resources, plus overhead; in whole units.
 * @param placed includes resources allocated by the kubelet until a resize completes
 */
export function podRequests(pod: ApiObject, placed: boolean): PodRequests {
  const spec = record<PodSpec>(pod.spec);
  const key = JSON.stringify([inputsOf(spec), placed ? givenInputs(record<PodStatus>(pod.status)) : null]);
  let requests = known.get(key);
  if (requests === undefined) {
    const given = placed ? new GivenAmounts(record<PodStatus>(pod.status)) : null;
    requests = {
      requests: compute(spec, given, NO_DEFAULTS),
      scored: compute(spec, given, SCORED_DEFAULTS),
    };
    if (known.size >= MAX_KNOWN) known.clear();
    if (key.length <= MAX_KEY_CHARACTERS) known.set(key, requests);
  }
  return requests;
}

function inputsOf(spec: PodSpec): unknown {
  const container = ({ name, resources, restartPolicy }: Container): unknown => [
    name,
    record(resources).requests,
    restartPolicy,
  ];
  return [
    records(spec.containers).map(container),
    records(spec.initContainers).map(container),
    record(spec.resources).requests,
    spec.overhead,
  ];
}

function givenInputs({ containerStatuses, initContainerStatuses, conditions }: PodStatus): unknown {
  const container = ({ name, resources, allocatedResources }: ContainerStatus): unknown =>
    resources === undefined ? null : [name, record(resources).requests, allocatedResources];
  return [
    records(containerStatuses).map(container),
    records(initContainerStatuses).map(container),
    records(conditions).find(({ type }) => type === "PodResizePending")?.reason,
  ];
}

function compute(spec: PodSpec, given: GivenAmounts | null, defaults: ExactAmounts): Amounts {
  const requestsOf = (container: Container, from: GivenAmounts | null): ExactAmounts =>
    new Map([...defaults, ...containerRequests(container, from)]);
  const total: ExactAmounts = new Map();
  for (const container of records(spec.containers)) addAmounts(total, requestsOf(container, given));
  const sidecars: ExactAmounts = new Map();
  const starting: ExactAmounts = new Map();
  for (const container of records(spec.initContainers)) {
    if (container.restartPolicy === "Always") {
      const requests = requestsOf(container, given);
      addAmounts(total, requests);
      addAmounts(sidecars, requests);
      raiseAmounts(starting, sidecars);
    } else {
      const together = requestsOf(container, null);
      addAmounts(together, sidecars);
      raiseAmounts(starting, together);
    }
  }
  raiseAmounts(total, starting);
  for (const [name, amount] of exactAmounts(record(spec.resources).requests))
    if (name === "cpu" || name === "memory" || name.startsWith("hugepages-")) total.set(name, amount);
  addAmounts(total, exactAmounts(spec.overhead));
  return wholeUnits(total);
}

function containerRequests(container: Container, given: GivenAmounts | null): ExactAmounts {
  const wanted = exactAmounts(record(container.resources).requests);
  return given === null ? wanted : given.with(text(container.name), wanted);
}

class GivenAmounts {
  readonly #byName = new Map<string, ContainerStatus>();
  readonly #infeasible: boolean;

  constructor(status: PodStatus) {
    for (const list of [status.containerStatuses, status.initContainerStatuses])
      for (const container of records(list)) this.#byName.set(text(container.name), container);
    const pending = records(status.conditions).find(({ type }) => type === "PodResizePending");
    this.#infeasible = pending?.reason === "Infeasible";
  }

  with(container: string, wanted: ExactAmounts): ExactAmounts {
    const status = this.#byName.get(container);
    if (status === undefined || status.resources === undefined) return wanted;
    const most: ExactAmounts = this.#infeasible ? new Map() : wanted;
    raiseAmounts(most, exactAmounts(record(status.resources).requests));
    raiseAmounts(most, exactAmounts(status.allocatedResources));
    return most;
  }
}
