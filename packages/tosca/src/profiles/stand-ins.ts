// Reduced published profiles for workflows: types, ancestors and requirement targets. Used if the profile's
// file is missing. They list no properties, so any are allowed.

type Kind = "nodes" | "capabilities" | "relationships";

/** Types of a kind: `name < parent`, separated by spaces; the default parent is Root. */
function typesOf(kind: Kind, text: string): string {
  return text
    .trim()
    .split(/\s+/)
    .map((entry) => {
      const [name = "", parent = "Root"] = entry.split("<");
      const base = name === "Root" ? "" : `derived_from: tosca.${kind}.${parent}`;
      return `  tosca.${kind}.${name}: { ${base} }`;
    })
    .join("\n");
}

const anyNumber = "occurrences: [ 0, UNBOUNDED ]";
const hostedOn = (capability: string): string =>
  `host: { capability: tosca.capabilities.${capability}, relationship: tosca.relationships.HostedOn, ${anyNumber} }`;
const attachedTo = (name: string): string =>
  `${name}: { capability: tosca.capabilities.Attachment, relationship: tosca.relationships.AttachesTo, ${anyNumber} }`;

export const SIMPLE_PROFILE = `
tosca_definitions_version: tosca_simple_yaml_1_3
capability_types:
${typesOf("capabilities", "Root Node Container Compute<Container Storage Attachment OperatingSystem Scalable Network")}
${typesOf("capabilities", "Endpoint Endpoint.Public<Endpoint Endpoint.Admin<Endpoint Endpoint.Database<Endpoint")}
${typesOf("capabilities", "Container.Docker<Container network.Bindable<Node network.Linkable<Node")}
relationship_types:
${typesOf("relationships", "Root DependsOn HostedOn ConnectsTo RoutesTo<ConnectsTo AttachesTo")}
${typesOf("relationships", "network.LinksTo<DependsOn network.BindsTo<DependsOn")}
node_types:
  tosca.nodes.Root:
    capabilities: { feature: tosca.capabilities.Node }
    requirements:
    - dependency: { capability: tosca.capabilities.Node, relationship: tosca.relationships.DependsOn, ${anyNumber} }
${typesOf("nodes", "Abstract.Compute Abstract.Storage Storage.BlockStorage<Abstract.Storage BlockStorage network.Network")}
  tosca.nodes.Compute:
    derived_from: tosca.nodes.Abstract.Compute
    capabilities: { host: tosca.capabilities.Compute, endpoint: tosca.capabilities.Endpoint.Admin }
    requirements:
    - ${attachedTo("local_storage")}
  tosca.nodes.SoftwareComponent:
    derived_from: tosca.nodes.Root
    requirements:
    - ${hostedOn("Compute")}
  tosca.nodes.WebServer:
    derived_from: tosca.nodes.SoftwareComponent
    capabilities: { data_endpoint: tosca.capabilities.Endpoint, admin_endpoint: tosca.capabilities.Endpoint.Admin, host: tosca.capabilities.Container }
  tosca.nodes.WebApplication:
    derived_from: tosca.nodes.Root
    capabilities: { app_endpoint: tosca.capabilities.Endpoint }
    requirements:
    - ${hostedOn("Container")}
  tosca.nodes.DBMS:
    derived_from: tosca.nodes.SoftwareComponent
    capabilities: { host: tosca.capabilities.Container }
  tosca.nodes.Database:
    derived_from: tosca.nodes.Root
    capabilities: { database_endpoint: tosca.capabilities.Endpoint.Database }
    requirements:
    - ${hostedOn("Container")}
  tosca.nodes.LoadBalancer:
    derived_from: tosca.nodes.Root
    capabilities: { client: tosca.capabilities.Endpoint.Public }
    requirements:
    - application: { capability: tosca.capabilities.Endpoint, relationship: tosca.relationships.RoutesTo, ${anyNumber} }
  tosca.nodes.Storage.ObjectStorage:
    derived_from: tosca.nodes.Abstract.Storage
    capabilities: { storage_endpoint: tosca.capabilities.Endpoint }
  tosca.nodes.ObjectStorage: { derived_from: tosca.nodes.Storage.ObjectStorage }
  tosca.nodes.Container.Runtime:
    derived_from: tosca.nodes.SoftwareComponent
    capabilities: { host: tosca.capabilities.Container }
  tosca.nodes.Container.Application:
    derived_from: tosca.nodes.Root
    requirements:
    - ${hostedOn("Container")}
    - ${attachedTo("storage")}
  tosca.nodes.Container.Application.Docker: { derived_from: tosca.nodes.Container.Application }
  tosca.nodes.network.Port:
    derived_from: tosca.nodes.Root
    requirements:
    - link: { capability: tosca.capabilities.network.Linkable, relationship: tosca.relationships.network.LinksTo, ${anyNumber} }
    - binding: { capability: tosca.capabilities.network.Bindable, relationship: tosca.relationships.network.BindsTo, ${anyNumber} }
`;

const interaction = `interaction: { relationship: micro.relationships.InteractsWith, ${anyNumber} }`;

const MICRO_TOSCA = `
tosca_definitions_version: tosca_simple_yaml_1_3
relationship_types:
  micro.relationships.InteractsWith: { derived_from: tosca.relationships.Root }
  micro.relationships.DeployedOn: { derived_from: tosca.relationships.HostedOn }
node_types:
  micro.nodes.Root: { derived_from: tosca.nodes.Root }
  micro.nodes.Service:
    derived_from: micro.nodes.Root
    requirements:
    - ${interaction}
  micro.nodes.Compute: { derived_from: micro.nodes.Root }
  micro.nodes.CommunicationPattern:
    derived_from: micro.nodes.Root
    requirements:
    - ${interaction}
${["MessageBroker", "MessageRouter"].map((name) => `  micro.nodes.${name}: { derived_from: micro.nodes.CommunicationPattern }`).join("\n")}
  micro.nodes.Datastore: { derived_from: micro.nodes.Root }
${["DataStore", "Database"].map((name) => `  micro.nodes.${name}: { derived_from: micro.nodes.Datastore }`).join("\n")}
`;

const MICADO_CONTAINER = "tosca.nodes.MiCADO.Container.Application";

const MICADO = `
tosca_definitions_version: tosca_simple_yaml_1_3
relationship_types:
  tosca.relationships.MiCADO.ConnectsTo: { derived_from: tosca.relationships.ConnectsTo }
node_types:
  ${MICADO_CONTAINER}.Docker:
    derived_from: tosca.nodes.Container.Application
    capabilities: { service: tosca.capabilities.Container.Docker }
    requirements:
    - service: { relationship: tosca.relationships.MiCADO.ConnectsTo, ${anyNumber} }
    - ${attachedTo("volume")}
${["Deployment", "DaemonSet", "StatefulSet", "Job"].map((name) => `  ${MICADO_CONTAINER}.Docker.${name}: { derived_from: ${MICADO_CONTAINER}.Docker }`).join("\n")}
  ${MICADO_CONTAINER}.Pod:
    derived_from: tosca.nodes.Container.Application
    requirements:
    - service: { relationship: tosca.relationships.MiCADO.ConnectsTo, ${anyNumber} }
    - container: { capability: tosca.capabilities.Container.Docker, relationship: tosca.relationships.HostedOn, ${anyNumber} }
    - ${attachedTo("volume")}
${["Deployment", "DaemonSet", "StatefulSet", "Job"].map((name) => `  ${MICADO_CONTAINER}.Pod.${name}: { derived_from: ${MICADO_CONTAINER}.Pod }`).join("\n")}
  tosca.nodes.MiCADO.Container.Pod.Kubernetes: { derived_from: ${MICADO_CONTAINER}.Pod }
  micado.microservice: { derived_from: ${MICADO_CONTAINER}.Docker }
`;

const APPLICATION = `
tosca_definitions_version: tosca_2_0
profile: community.tosca.abstract.application
capability_types:
  Endpoint: {}
relationship_types:
  InteractsWith: {}
node_types:
  Application: {}
  MicroServiceApplication: { derived_from: Application }
  ServerlessApplication: { derived_from: Application }
${["MicroService", "SingleHostApplication"].map(endpointType).join("\n")}
`;

function endpointType(name: string): string {
  return `  ${name}:
    derived_from: Application
    capabilities: { endpoint: { type: Endpoint } }
    requirements:
    - endpoint: { node: ${name}, capability: Endpoint, relationship: InteractsWith, count_range: [ 0, UNBOUNDED ] }`;
}

/** Puccini's newer, capability-based Kubernetes profile. */
const KUBERNETES_RESOURCES = `
tosca_definitions_version: tosca_2_0
capability_types: { Deployment: {}, Service: {} }
relationship_types: { Connects: {} }
node_types: { Kubernetes: {} }
`;

const KUBERNETES_MICROSERVICES = `
tosca_definitions_version: tosca_2_0
imports: [ { url: krm.yaml, namespace: krm } ]
node_types:
  MicroService: { derived_from: krm:Kubernetes }
  SimpleMicroService:
    derived_from: MicroService
    capabilities: { deployment: { type: krm:Deployment }, service: { type: krm:Service } }
  ComplexMicroService:
    derived_from: MicroService
    capabilities:
${["deployment1", "deployment2", "service1", "service2"].map((name) => `      ${name}: { type: krm:${name.startsWith("d") ? "Deployment" : "Service"} }`).join("\n")}
`;

const STAND_INS: readonly (readonly [RegExp, string])[] = [
  [/^community\.tosca\.abstract\.application:/, APPLICATION],
  [/(^|\/)micro-?TOSCA(-types)?\.ya?ml$/i, MICRO_TOSCA],
  [/(^|\/)kubernetes\/microservices\.yaml$/, KUBERNETES_MICROSERVICES],
  [/^(.*\/kubernetes\/)?krm\.yaml$/, KUBERNETES_RESOURCES],
  [/(^|\/)micado_types\.ya?ml$/, MICADO],
  [/^(org\.oasis-open\.)?tosca\.simple:|^tosca-normative-types:|^org\.oasis-open\.simple:/, SIMPLE_PROFILE],
];

export function publishedProfile(name: string): string | null {
  return STAND_INS.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}
