import {
  DeclaredObjects,
  DEPENDENCIES_ANNOTATION,
  refusedDeclarationEvent,
} from "@isochrone/aggregator/parsers";
import { CHANNELS_ANNOTATION, type KubernetesObject } from "@isochrone/kubernetes";
import { OWN_NAMESPACE_ONLY, type DeclaredChannel } from "@isochrone/topology";
import { textOf, type Outcome, type Trials } from "./trial.ts";

/** Number of channels per object when many objects declare some; below the limit of one object. */
const OF_ONE = 1_000;

export function declarationTrials(): Trials {
  return {
    trials: {
      "`isochrone.dev/dependencies`: entries": (amount) => read([calling("web", callees(amount))], amount),
      "`isochrone.dev/dependencies`: length": (amount) => {
        const [before, after] = [`[{"name": "db", "type": "`, `"}]`];
        return read([calling("web", textOf(amount, before, after))], 1);
      },
      "`isochrone.dev/dependencies`: nesting of JSON": (amount) => {
        // The list and its entry are two levels.
        const [before, after] = ["[", "]"].map((bracket) => bracket.repeat(amount - 2));
        return read([calling("web", `[{"name": "db", "more": ${before}${after}}]`)], 1);
      },
      "`isochrone.dev/channels`: length": (amount) => {
        const text = textOf(amount, `[{"source": "web", "target": "web", "type": "`, `"}]`);
        return read([group(1, { [CHANNELS_ANNOTATION]: text })], 2);
      },
      "AppGroup, `dependencies` of all workloads": (amount) => read([group(amount)], amount),
      "declarations of a namespace: channels": (amount) => {
        const objects = Array.from({ length: Math.ceil(amount / OF_ONE) }, (_, at) =>
          calling(`web-${at}`, callees(Math.min(OF_ONE, amount - at * OF_ONE))),
        );
        return read(objects, amount);
      },
      "declarations of a namespace: length": (amount) => {
        const each = 64 * 1024;
        const objects = Array.from({ length: Math.ceil(amount / each) }, (_, at) =>
          calling(
            `web-${at}`,
            textOf(Math.min(each, amount - at * each), `[{"name": "db", "type": "`, `"}]`),
          ),
        );
        return read(objects, objects.length);
      },
      "`priority` of a dependency": (amount) =>
        valueOf({ priority: amount }, amount, ({ priority }) => priority),
      "`maxNetworkCost` of a dependency": (amount) =>
        valueOf({ maxNetworkCost: amount }, amount, ({ maxNetworkCost }) => maxNetworkCost),
      "`minBandwidth` of a dependency": (amount) =>
        valueOf(
          { minBandwidth: String(amount) },
          amount,
          ({ minBandwidthBitsPerSecond }) => minBandwidthBitsPerSecond,
        ),
      "`type` of a dependency": (amount) =>
        valueOf({ type: textOf(amount) }, amount, ({ relationshipType }) => relationshipType?.length ?? 0),
    },
  };
}

function read(objects: readonly KubernetesObject[], wanted: number): Outcome {
  const events: string[] = [];
  const declared = new DeclaredObjects(OWN_NAMESPACE_ONLY, (_object, refused) =>
    events.push(refusedDeclarationEvent(refused).note),
  );
  const groups = objects.filter(({ kind }) => kind === "AppGroup");
  const channels = declared.read(
    groups,
    objects.filter((object) => !groups.includes(object)),
  );
  const refused = [...declared.refused.values()].reduce((sum, count) => sum + count, 0);
  return {
    isCut: channels.length < wanted,
    named: refused > 0 ? (events[0] ?? null) : null,
    input: objects,
    kept: [declared, channels],
  };
}

/** The graph caps an amount at its limit. */
function valueOf(
  fields: object,
  amount: number,
  value: (channel: DeclaredChannel) => number | null,
): Outcome {
  const declared = new DeclaredObjects(OWN_NAMESPACE_ONLY, () => undefined);
  const [channel] = declared.read([], [calling("web", JSON.stringify([{ name: "db", ...fields }]))]);
  const taken = channel === undefined ? null : value(channel);
  return { isCut: taken !== amount, named: `${taken}`, kept: channel };
}

function callees(count: number): string {
  return JSON.stringify(Array.from({ length: count }, (_, at) => ({ name: `c${at}` })));
}

function calling(name: string, text: string): KubernetesObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "shop", name, annotations: { [DEPENDENCIES_ANNOTATION]: text } },
  };
}

function group(dependencies: number, annotations: Readonly<Record<string, string>> = {}): KubernetesObject {
  const workload = (name: string): object => ({ kind: "Deployment", apiVersion: "apps/v1", name });
  return {
    apiVersion: "appgroup.diktyo.x-k8s.io/v1alpha1",
    kind: "AppGroup",
    metadata: { namespace: "shop", name: "shop", annotations },
    spec: {
      workloads: [
        {
          workload: workload("web"),
          dependencies: Array.from({ length: dependencies }, (_, at) => ({ workload: workload(`c${at}`) })),
        },
      ],
    },
  };
}
