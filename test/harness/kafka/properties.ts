// A broker that is its own controller, with failure detection within 3 s.
import { join } from "node:path";

export type Properties = Readonly<Record<string, string | number | boolean>>;

export interface NodeAddress {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
  /** Plaintext listener for brokers and the harness. */
  readonly internalPort: number;
  readonly controllerPort: number;
}

export interface ClusterPlan {
  readonly nodes: readonly NodeAddress[];
  readonly security: "plaintext" | "sasl_tls";
  /** PEM file with the server's key and certificates. Null without TLS. */
  readonly keystorePath: string | null;
  readonly authorizer: boolean;
  readonly properties: Properties;
}

export function serverProperties(plan: ClusterPlan, node: NodeAddress, folder: string): string {
  const all: Properties = {
    ...identity(plan, node, folder),
    ...replication(plan.nodes.length),
    ...FOR_TESTS,
    ...clientSecurity(plan),
    ...(plan.authorizer ? AUTHORIZER : {}),
    ...plan.properties,
  };
  return Object.entries(all)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

function identity({ nodes, security }: ClusterPlan, node: NodeAddress, folder: string): Properties {
  const { host, port, internalPort, controllerPort } = node;
  const open = `CLIENT://${host}:${port},INTERNAL://${host}:${internalPort}`;
  const client = security === "plaintext" ? "PLAINTEXT" : "SASL_SSL";
  return {
    "process.roles": "broker,controller",
    "node.id": node.nodeId,
    "controller.quorum.voters": nodes
      .map((voter) => `${voter.nodeId}@${voter.host}:${voter.controllerPort}`)
      .join(","),
    listeners: `${open},CONTROLLER://${host}:${controllerPort}`,
    "advertised.listeners": open,
    "listener.security.protocol.map": `CLIENT:${client},INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT`,
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "INTERNAL",
    "log.dirs": join(folder, "log"),
  };
}

function replication(brokers: number): Properties {
  const inSync = brokers > 1 ? 2 : 1;
  return {
    "default.replication.factor": brokers,
    "min.insync.replicas": inSync,
    "offsets.topic.replication.factor": brokers,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.replication.factor": brokers,
    "transaction.state.log.min.isr": inSync,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.replication.factor": brokers,
    "share.coordinator.state.topic.min.isr": inSync,
  };
}

const FOR_TESTS: Properties = {
  "auto.create.topics.enable": false,
  "unclean.leader.election.enable": false,
  "num.partitions": 1,
  "broker.session.timeout.ms": 3000,
  "broker.heartbeat.interval.ms": 500,
  "group.initial.rebalance.delay.ms": 0,
  "num.network.threads": 2,
  "num.io.threads": 4,
  "num.replica.fetchers": 1,
  "log.cleaner.dedupe.buffer.size": 16_777_216,
  "log.segment.bytes": 134_217_728,
};

function clientSecurity({ keystorePath }: ClusterPlan): Properties {
  if (keystorePath === null) return {};
  const login = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
  return {
    "listener.name.client.ssl.keystore.type": "PEM",
    "listener.name.client.ssl.keystore.location": keystorePath,
    "listener.name.client.sasl.enabled.mechanisms": "SCRAM-SHA-512",
    "listener.name.client.scram-sha-512.sasl.jaas.config": login,
  };
}

/** Brokers and the harness are anonymous on the internal listener. Users have only granted permissions. */
const AUTHORIZER: Properties = {
  "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
  "super.users": "User:ANONYMOUS",
};
