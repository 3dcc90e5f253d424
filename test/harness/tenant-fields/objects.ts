import {
  DISPATCH_ANNOTATIONS,
  dispatchOrderOf,
  EGRESS_BANDWIDTH,
  MOVING_ANNOTATION,
  PLANNED_AMONG_ANNOTATION,
  podView,
  readAppliedMoves,
  readMoveRecords,
  readRelease,
  withoutPlannedNodes,
  type KubernetesObject,
} from "@isochrone/kubernetes";
import { readPlan } from "@isochrone/scheduler-plugin/parsers";
import { textOf, type Outcome, type Trials } from "./trial.ts";

const NOW_MS = Date.parse("2030-01-01T00:00:00Z");

export function objectTrials(): Trials {
  return {
    trials: {
      "`isochrone.dev/moves`: records": (amount) => moves(JSON.stringify(records(amount)), amount),
      "`isochrone.dev/moves`: length": (amount) => {
        const text = JSON.stringify(records(1));
        return moves(text.replace(`"to":"b"`, `"to":"${textOf(amount - text.length + 1)}"`), 1);
      },
      "`isochrone.dev/applied-moves`: length": (amount) => {
        const text = textOf(amount, `{"run":"`, `","moves":[{"order":0,"from":"a","to":"b"}]}`);
        const kept = readAppliedMoves(annotated("ReplicaSet", { "isochrone.dev/applied-moves": text }));
        return { isCut: kept === null, named: null, kept };
      },
      "`isochrone.dev/moving`: length": (amount) => {
        const fields = `"hash":"h","to":"b","before":0,"replicas":1,"deadline":"2030-01-01T00:00:00Z"}`;
        const text = textOf(amount, `{"replicaSet":{"name":"`, `","uid":"u"},${fields}`);
        const kept = readRelease(annotated("Pod", { [MOVING_ANNOTATION]: text }));
        return { isCut: kept === null, named: null, kept };
      },
      "`isochrone.dev/planned-among`: length": (amount) => {
        const pod = annotated("Pod", { [PLANNED_AMONG_ANNOTATION]: textOf(amount, "a,") });
        const kept = withoutPlannedNodes(pod);
        return { isCut: kept === pod, named: null, input: pod, kept };
      },
      "`kubernetes.io/egress-bandwidth`, `ingress-bandwidth`": (amount) => {
        const pod = annotated("Pod", { [EGRESS_BANDWIDTH]: String(amount) });
        const limit = podView(pod).egressLimitBitsPerSecond;
        return { isCut: limit !== amount, named: null, kept: limit };
      },
      "`isochrone.dev/deadline`": (amount) =>
        order({ [DISPATCH_ANNOTATIONS.deadline]: `${amount}ms` }, DISPATCH_ANNOTATIONS.deadline),
      "`isochrone.dev/capacity`": (amount) =>
        order({ [DISPATCH_ANNOTATIONS.capacity]: String(amount) }, DISPATCH_ANNOTATIONS.capacity),
      "`isochrone.dev/min-local-share`": (amount) =>
        order({ [DISPATCH_ANNOTATIONS.minLocalShare]: String(amount) }, DISPATCH_ANNOTATIONS.minLocalShare),
      "`isochrone.dev/zone-weights`: length": (amount) => {
        const text = textOf(amount, `{"`, `": {"requestsPerSecond": 1, "to": {"b": 1}}}`);
        const plan = readPlan(text);
        return { isCut: plan === null, named: null, kept: plan };
      },
    },
  };
}

function moves(text: string, wanted: number): Outcome {
  const read = readMoveRecords(annotated("ReplicaSet", { "isochrone.dev/moves": text }), NOW_MS);
  return { isCut: read.length < wanted, named: null, kept: read };
}

function records(count: number): readonly object[] {
  return Array.from({ length: count }, (_, at) => ({
    podUid: `uid-${at}`,
    from: "a",
    to: "b",
    deadline: new Date(NOW_MS + 60_000).toISOString(),
  }));
}

/** A fault is a text that an Event and the Traffic page show. */
function order(annotations: Readonly<Record<string, string>>, name: string): Outcome {
  const read = dispatchOrderOf(
    annotated("Service", { [DISPATCH_ANNOTATIONS.dispatch]: "hints", ...annotations }),
  );
  const isCut = typeof read === "string";
  return { isCut, named: isCut && read.includes(name) ? read : null, kept: read };
}

function annotated(kind: string, annotations: Readonly<Record<string, string>>): KubernetesObject {
  return { apiVersion: "v1", kind, metadata: { namespace: "shop", name: "web", annotations } };
}
