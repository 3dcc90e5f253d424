import type { SpokenFor } from "@isochrone/bus/otlp-http";
import { type KubernetesObject, type PodSpec } from "@isochrone/kubernetes";
import { looseFields } from "@isochrone/primitives";
import { checkedFileIfAny } from "@isochrone/runtime";
import { readOutside } from "@isochrone/telemetry/outside";
import type { GateAnswer, Principal, PrincipalPod, RequestGate } from "@isochrone/runtime/http";
import { PlannedFlows } from "./adapters/planned-flows.ts";
import { WatchedFacts, type WatchedCluster } from "./adapters/watched-facts.ts";
import type { AggregatorDependencies } from "./dependencies.ts";
import type { FlowFacts } from "./domain/ingest/bind-flow.ts";
import { OwnCluster } from "./domain/ingest/own-cluster.ts";
import type { ClusterFacts } from "./domain/speakers/authority.ts";
import { parseSpeakerRules, SpeakerPolicy } from "./domain/speakers/policy.ts";
import {
  HEADER_SPEAKERS,
  maySendAs,
  OPEN_SPEAKERS,
  speakerText,
  type ProvenSpeaker,
  type Speakers,
} from "./domain/speakers/speaker.ts";
import type { AggregatorConfig } from "./settings.ts";

interface SpeakersCluster extends WatchedCluster {
  pod(namespace: string, name: string): KubernetesObject | null;
}

export interface Speaking {
  readonly policy: SpeakerPolicy;
  readonly facts: ClusterFacts & Pick<WatchedFacts, "ambiguousNames">;
  readonly flows: FlowFacts;
  readonly clusters: OwnCluster;
  readonly speakers: Speakers;
  /** The gate; its principals include their node. */
  readonly gate: RequestGate | undefined;
  /** Sender that a token's holder may speak as; null: none. */
  proven(principal: Principal | null): ProvenSpeaker | null;
  /** Undefined: senders are not authenticated. */
  readonly speakerOf: ((principal: Principal | null, source: string | null) => SpokenFor) | undefined;
}

/**
 * Trusts the ingest's header if there is a gate and no other writer. Otherwise trusts everyone, unless
 * configured differently.
 */
export function createSpeaking(
  {
    speakers: text,
    outsideFile,
    clusterNames,
  }: Pick<AggregatorConfig, "clusterNames" | "outsideFile" | "speakers">,
  {
    access,
    speakers,
    isShared,
    clock,
    logger,
    outside = checkedFileIfAny(outsideFile, "outside", readOutside),
  }: Pick<AggregatorDependencies, "access" | "speakers" | "isShared" | "clock" | "logger" | "outside">,
  watch: SpeakersCluster,
  flowPlans: ConstructorParameters<typeof PlannedFlows>[0],
): Speaking {
  const gate = access?.gate;
  // Mistakes were reported when the settings were read.
  const rules = parseSpeakerRules(text);
  const policy = new SpeakerPolicy(Array.isArray(rules) ? rules : []);
  return {
    policy,
    facts: new WatchedFacts(watch, clock, outside, (workload) =>
      logger.warnOnce(`ambiguous:${workload}`, "a name means several workloads, its traffic is nobody's", {
        workload,
      }),
    ),
    flows: new PlannedFlows(flowPlans),
    clusters: new OwnCluster(clusterNames),
    speakers: speakers ?? (gate === undefined || isShared === true ? OPEN_SPEAKERS : HEADER_SPEAKERS),
    gate: gate === undefined ? undefined : withNodes(gate, (pod) => nodeOf(pod, watch)),
    proven: (principal) => (principal === null ? null : policy.speakerOf(principal)),
    speakerOf: gate === undefined ? undefined : (principal, source) => spokenFor(policy, principal, source),
  };
}

/** Adds the node, because API servers before 1.30 only name a token's pod. */
function withNodes(gate: RequestGate, nodeOfPod: (pod: PrincipalPod) => string | null): RequestGate {
  const complete = (answer: GateAnswer): GateAnswer => {
    if (answer === null || "status" in answer) return answer;
    const { node, pod } = answer.principal;
    return node !== null || pod === null
      ? answer
      : { principal: { ...answer.principal, node: nodeOfPod(pod) } };
  };
  return {
    check(request): GateAnswer | Promise<GateAnswer> {
      const answer = gate.check(request);
      return answer instanceof Promise ? answer.then(complete) : complete(answer);
    },
  };
}

/** Returns null also for another pod of that name, because a token may outlive its pod. */
function nodeOf({ namespace, name, uid }: PrincipalPod, watch: SpeakersCluster): string | null {
  const pod = watch.pod(namespace, name);
  const node = pod?.metadata.uid === uid ? looseFields<PodSpec>(pod.spec).nodeName : undefined;
  return typeof node === "string" ? node : null;
}

function spokenFor(policy: SpeakerPolicy, principal: Principal | null, source: string | null): SpokenFor {
  const speaker = principal === null ? null : policy.speakerOf(principal);
  if (speaker === null) {
    const user = principal?.user ?? "the sender";
    return {
      refused: `${user} must have a token that is bound to a pod on a node, or be named in aggregator.speakers`,
    };
  }
  if (source !== null && !maySendAs(speaker, source))
    return { refused: `${speakerText(speaker)} must not send as ${source}: it speaks for its own node only` };
  return { speaker: speakerText(speaker) };
}
