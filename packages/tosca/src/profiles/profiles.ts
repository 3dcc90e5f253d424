import { CHANNEL_TYPES, type ChannelType } from "@isochrone/placement";
import { publishedProfile } from "./stand-ins.ts";

// Types importable without a file, named like those of published profiles so that their templates can be
// read. The API server validates pods.

/** Puccini's Kubernetes profile: the types used by workflows. */
const KUBERNETES = `
tosca_definitions_version: tosca_simple_yaml_1_3
namespace: kubernetes
capability_types:
  Metadata:
    properties:
      name: { type: string, required: false }
      generateName: { type: string, required: false }
      namespace: { type: string, required: false }
      labels: { type: map, required: false }
      annotations: { type: map, required: false }
      finalizers: { type: list, required: false }
  Service:
    properties:
      spec: { type: map, required: false }
      ports: { type: list, required: false }
      selector: { type: map, required: false }
      clusterIP: { type: string, required: false }
      publishNotReadyAddresses: { type: boolean, required: false }
      externalIPs: { type: list, required: false }
      externalTrafficPolicy: { type: string, required: false }
      sessionAffinity: { type: string, required: false }
      trafficDistribution: { type: string, required: false }
  ClusterIP: { derived_from: Service }
  NodePort: { derived_from: ClusterIP }
  LoadBalancer:
    derived_from: NodePort
    properties:
      loadBalancerIP: { type: string, required: false }
      loadBalancerSourceRanges: { type: list, required: false }
  ExternalName:
    derived_from: Service
    properties:
      externalName: { type: string }
  Controller: {}
  Deployment:
    derived_from: Controller
    properties:
      spec: { type: map, required: false }
      template: { type: map, required: false }
      selector: { type: map, required: false }
      replicas: { type: integer, required: false }
      revisionHistoryLimit: { type: integer, required: false }
      strategy: { type: map, required: false }
      minReadySeconds: { type: scalar-unit.time, required: false }
      progressDeadlineSeconds: { type: scalar-unit.time, required: false }
relationship_types:
  Route:
    valid_target_types: [ Service ]
node_types:
  Service:
    capabilities:
      metadata: Metadata
      service: Service
      deployment: Deployment
    requirements:
    - route: { capability: Service, relationship: Route, occurrences: [ 0, UNBOUNDED ] }
`;

/** Relationship types of [001] 3.3, figure 1, with default priorities. */
const ROUTES = `
tosca_definitions_version: tosca_simple_yaml_1_3
namespace: isochrone
imports:
- { file: "internal:/tosca/kubernetes/1.0/profile.yaml", namespace_prefix: k8s }
relationship_types:
${CHANNEL_TYPES.map(routeType).join("\n")}
`;

function routeType({ name, derivedFrom, priority }: ChannelType): string {
  const ownNeeds =
    "maxNetworkCost: { type: integer, required: false }, minBandwidth: { type: scalar-unit.bitrate, required: false }";
  const properties = [
    `priority: { type: float, default: ${priority} }`,
    ...(derivedFrom === null ? [ownNeeds] : []),
  ];
  return `  ${name}: { derived_from: "${derivedFrom ?? "k8s:Route"}", properties: { ${properties.join(", ")} } }`;
}

export const KUBERNETES_NAME = "internal:/tosca/kubernetes/1.0/profile.yaml";
const ROUTES_NAME = "internal:/isochrone/1.0/profile.yaml";

/** Keyed by import name; the second one of each is the TOSCA 2.0 profile name. */
const BUILT_IN: Readonly<Record<string, string>> = {
  [KUBERNETES_NAME]: KUBERNETES,
  "dev.isochrone.kubernetes:1.0": KUBERNETES,
  [ROUTES_NAME]: ROUTES,
  "dev.isochrone.routes:1.0": ROUTES,
};

/** Path of the Kubernetes profile that newer Puccinis no longer ship; replaced by ours if missing. */
const STAND_IN = /(^|\/)kubernetes(-profile|\/1\.0)\/profile\.yaml$/;

export function builtInProfile(name: string): string | null {
  return Object.hasOwn(BUILT_IN, name) ? BUILT_IN[name]! : null;
}

interface StandIn {
  readonly text: string;
  readonly note: string;
  readonly isOpen: boolean;
}

export function standInProfile(file: string): StandIn | null {
  if (STAND_IN.test(file))
    return {
      text: KUBERNETES,
      note: "Isochrone's own types of the Kubernetes profile are taken",
      isOpen: false,
    };
  const text = publishedProfile(file);
  return text === null
    ? null
    : { text, note: "Isochrone's own types of that profile are taken", isOpen: true };
}
