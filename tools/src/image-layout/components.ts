interface Component {
  readonly folder: string;
  readonly without: readonly string[];
  readonly isService: boolean;
}

/** A pod uses its account's token, so this kubeconfig client is not needed. */
const IN_A_POD = ["@kubernetes/client-node"];
/**
 * Loads net-ping by a computed name, so tracing does not find it. Images include it on request only: its
 * native part needs a compiler, and pods use kernel sockets.
 */
export const NET_PING = { package: "net-ping", module: "probe/src/icmp/net-ping/module.ts" } as const;

export const COMPONENTS: Readonly<Record<string, Component>> = {
  probe: { folder: "probe", without: [], isService: true },
  collector: { folder: "collector", without: IN_A_POD, isService: true },
  "network-manager": { folder: "network-manager", without: [], isService: true },
  dispatcher: { folder: "dispatcher", without: IN_A_POD, isService: true },
  aggregator: { folder: "aggregator", without: IN_A_POD, isService: true },
  "scheduler-plugin": { folder: "scheduler-plugin", without: IN_A_POD, isService: true },
  cli: { folder: "cli", without: [], isService: false },
};

export const KAFKA_CLIENTS: Readonly<Record<string, readonly string[]>> = {
  platformatic: ["@platformatic/kafka", "@platformatic/wasm-utils"],
  kafkajs: ["kafkajs"],
};

/** Packages outside bundles: with native parts or programs, or selected when building an image. */
export const UNBUNDLED: readonly string[] = [
  "koffi",
  NET_PING.package,
  ...Object.values(KAFKA_CLIENTS).flat(),
];

/** Workspace folders read at run time, if present. The page must be built before; see the Dockerfile. */
export const ASSETS: Readonly<Record<string, readonly string[]>> = {
  dashboard: ["dist"],
  "packages/lab": ["data", "manifests"],
  experiments: ["scenarios"],
};
