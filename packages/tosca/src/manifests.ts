// Deployments and Services as in Puccini's script for its Kubernetes profile, with the AppGroup's pod labels.
import { isLabelValue, KINDS, type KubernetesObject } from "@isochrone/kubernetes";
import { isRecord } from "@isochrone/primitives";
import { groupLabels } from "./app-group.ts";
import { checkValues, fieldsOf, type Application, type ServiceNode } from "./application.ts";
import { containerOf, containersIn, servicePortsOf, templateWithContainers } from "./containers.ts";
import type { Cursor, Fields } from "./cursor.ts";
import { Mistakes } from "./mistakes.ts";
import { secondsOf } from "./values.ts";

/** Service capability types that are Kubernetes Service types. */
const SERVICE_TYPES: ReadonlySet<string> = new Set(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]);

export function manifestsOf(application: Application): {
  readonly objects: KubernetesObject[];
  readonly notes: string[];
} {
  const notes: string[] = [];
  const mistakes = new Mistakes();
  const objects = application.services.flatMap((service) => {
    const [own, deployment] = [
      mistakes.attempt(() => serviceObject(service)),
      mistakes.attempt(() => deploymentObject(application, service)),
    ];
    if (deployment === null) {
      mistakes.attempt(() => checkNone(containersIn(service.at), service.name));
      const where = service.hosts.length === 0 ? "" : ` of its own, but ${service.hosts.join(", ")}`;
      notes.push(`${service.name} has no containers${where}: no Deployment`);
    }
    return [own, deployment].filter((object) => object !== null && object !== undefined);
  });
  if (objects.length === 0 && mistakes.isEmpty) {
    const templates = application.root.either("node_templates", "vertexes", "Vertexes");
    mistakes.attempt(() => checkNone(templates && templateWithContainers(templates), "the template"));
  }
  mistakes.check();
  return { objects, notes };
}

function checkNone(containers: Cursor | null, whose: string): void {
  if (containers !== null)
    throw containers.error(
      "unsupported",
      `must be in a capability of type Deployment for manifests: ${whose} has containers elsewhere`,
    );
}

function serviceObject(node: ServiceNode): KubernetesObject | null {
  if (node.container !== null) return containerService(node, servicePortsOf(node.container));
  if (node.service === null) return null;
  const { type } = node.service;
  const properties = withSpec(node.service.properties);
  const spec = Object.fromEntries([...properties].map(([key, at]) => [key, checked(at)]));
  if (type !== "ExternalName" && !properties.has("ports")) return null;
  const ports = properties.get("ports")?.items().map(portOf);
  return {
    ...KINDS.service,
    metadata: metadataOf(node),
    spec: {
      ...(SERVICE_TYPES.has(type) ? { type } : {}),
      ...spec,
      ...(ports === undefined ? {} : { ports }),
      ...(type === "ExternalName" ? {} : { selector: spec.selector ?? selectorOf(node) }),
    },
  };
}

function containerService(node: ServiceNode, ports: readonly Fields[]): KubernetesObject | null {
  if (ports.length === 0) return null;
  const isNodePort = ports.some(({ nodePort }) => nodePort !== undefined);
  return {
    ...KINDS.service,
    metadata: metadataOf(node),
    spec: { ...(isNodePort ? { type: "NodePort" } : {}), ports, selector: selectorOf(node) },
  };
}

/** Merges properties that newer profiles keep under `spec`. */
function withSpec(properties: ReadonlyMap<string, Cursor>): ReadonlyMap<string, Cursor> {
  const spec = properties.get("spec");
  if (spec === undefined) return properties;
  return new Map([...[...properties].filter(([key]) => key !== "spec"), ...spec.entries()]);
}

/** Normalizes a target port: `targetPortName`, `target-port`, `{ port }` or `{ name }`. */
function portOf(at: Cursor): Fields {
  const { targetPortName, "target-port": dashed, targetPort, ...port } = fieldsOf(at);
  const target =
    targetPortName ?? dashed ?? (isRecord(targetPort) ? (targetPort.port ?? targetPort.name) : targetPort);
  return target === undefined ? port : { ...port, targetPort: target };
}

function deploymentObject(application: Application, node: ServiceNode): KubernetesObject | null {
  if (node.container !== null)
    return deploymentWith(application, node, {}, { containers: [containerOf(node.name, node.container)] });
  if (node.deployment === null) return null;
  const { containers, template, ...others } = Object.fromEntries(withSpec(node.deployment));
  const spec: Record<string, unknown> = {};
  for (const [key, at] of Object.entries(others)) spec[key] = CONVERSIONS[key]?.(at) ?? checked(at);
  if (template !== undefined)
    return deploymentWith(application, node, spec, podSpec(template), metadataIn(template));
  if (containers === undefined) return null;
  return deploymentWith(application, node, spec, { containers: containers.items().map(resourceContainer) });
}

function deploymentWith(
  application: Application,
  node: ServiceNode,
  spec: Fields,
  pod: Fields,
  metadata: { readonly labels?: Fields; readonly annotations?: Fields } = {},
): KubernetesObject {
  const selector = isRecord(spec.selector) ? spec.selector : {};
  const isSelector = "matchLabels" in selector || "matchExpressions" in selector;
  const annotations = { ...metadata.annotations, ...node.annotations };
  return {
    ...KINDS.deployment,
    metadata: metadataOf(node),
    spec: {
      ...spec,
      selector: isSelector ? selector : { matchLabels: selectorOf(node) },
      template: {
        metadata: {
          labels: { ...metadata.labels, ...selectorOf(node), ...groupLabels(application, node) },
          ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
        },
        spec: pod,
      },
    },
  };
}

/** A container of Puccini's newer Kubernetes profile, whose ports have `port` and `target-port`. */
function resourceContainer(at: Cursor): Fields {
  const { label: _, ports, ...fields } = fieldsOf(at);
  if (!Array.isArray(ports)) return fields;
  const open = at
    .get("ports")!
    .items()
    .map((port) => {
      const { port: number, "target-port": target, ...others } = fieldsOf(port);
      return { ...others, containerPort: target ?? number };
    });
  return { ...fields, ports: open };
}

/** Labels and annotations if this is a pod template, not a pod spec. */
function metadataIn(template: Cursor): { readonly labels?: Fields; readonly annotations?: Fields } {
  if (template.get("containers") !== null) return {};
  const [labels, annotations] = ["labels", "annotations"].map(
    (key) => template.get("metadata")?.get(key) ?? null,
  );
  return {
    ...(labels ? { labels: fieldsOf(labels) } : {}),
    ...(annotations ? { annotations: fieldsOf(annotations) } : {}),
  };
}

function metadataOf(node: ServiceNode): KubernetesObject["metadata"] {
  const { name, namespace, annotations } = node;
  return {
    name,
    namespace,
    labels: selectorOf(node),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

/** Excludes AppGroup labels: a Deployment's selector is immutable. */
function selectorOf({ labels, template, at }: ServiceNode): Record<string, string> {
  if (!isLabelValue(template))
    throw at.error(
      "invalid_value",
      `must be called by a label's value (at most 63 letters, digits, -, _ and .), got ${JSON.stringify(template)}`,
    );
  return { ...labels, service: template };
}

const CONVERSIONS: Readonly<Record<string, (at: Cursor) => unknown>> = {
  minReadySeconds: seconds,
  progressDeadlineSeconds: seconds,
  strategy: strategyOf,
};

function seconds(at: Cursor): number {
  const value = secondsOf(at.value);
  if (value === null || !(value >= 0)) throw at.fail("must be a time, as 10 s", "invalid_value");
  return Math.round(value);
}

/** Converts Puccini's `{type, maxSurge: {factor | count}}`; keeps Kubernetes' `rollingUpdate`. */
function strategyOf(at: Cursor): Fields {
  const { type, maxSurge, maxUnavailable, ...others } = fieldsOf(at);
  const amounts = Object.entries({ maxSurge, maxUnavailable }).filter(([, amount]) => amount !== undefined);
  const isRolling = type !== "Recreate" && amounts.length > 0;
  return {
    ...others,
    ...(type === undefined ? {} : { type }),
    ...(isRolling
      ? { rollingUpdate: Object.fromEntries(amounts.map(([key, amount]) => [key, amountOf(amount)])) }
      : {}),
  };
}

function amountOf(amount: unknown): unknown {
  if (!isRecord(amount)) return amount;
  const { factor, count } = amount;
  return typeof factor === "number" ? `${Math.round(factor * 100)}%` : count;
}

/** Accepts a pod spec or a pod template. */
function podSpec(at: Cursor): Fields {
  const template = (at.isMap && at.get("containers") === null ? at.get("spec") : null) ?? at;
  const spec = fieldsOf(template);
  if (!Array.isArray(spec.containers) || spec.containers.length === 0)
    throw template.error("invalid_value", "must have a list of containers");
  const converted = Object.fromEntries(
    ["activeDeadlineSeconds", "terminationGracePeriodSeconds"]
      .filter((key) => spec[key] !== undefined)
      .map((key) => [key, seconds(template.get(key)!)]),
  );
  return { ...spec, ...converted };
}

function checked(at: Cursor): unknown {
  checkValues(at);
  return at.value;
}
