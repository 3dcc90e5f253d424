// Pods that together have every field that an API server accepts.
import type { KubernetesObject } from "@isochrone/kubernetes";

import { EVERY_VOLUME, labelSelector } from "./every-volume.ts";

type Fields = Readonly<Record<string, unknown>>;

const terms = [
  {
    matchExpressions: [
      { key: "zone", operator: "In", values: ["a", "b"] },
      { key: "gpu", operator: "Exists" },
    ],
    matchFields: [{ key: "metadata.name", operator: "NotIn", values: ["n9"] }],
  },
  { matchExpressions: [{ key: "cores", operator: "Gt", values: ["4"] }] },
];
const podTerms = [
  {
    labelSelector,
    namespaces: ["shop", "data"],
    topologyKey: "kubernetes.io/hostname",
    namespaceSelector: {},
    matchLabelKeys: ["pod-template-hash"],
    mismatchLabelKeys: ["tenant"],
  },
  { topologyKey: "topology.kubernetes.io/zone", labelSelector: {} },
];
const podAffinity = {
  requiredDuringSchedulingIgnoredDuringExecution: podTerms,
  preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 7, podAffinityTerm: podTerms[0] }],
};

const containers = [
  {
    name: "main",
    image: "registry.example.com/web:1.2.3@sha256:" + "0a".repeat(32),
    command: ["/bin/web", ""],
    args: ["--größe=☃", '--quote="<&>"', "\u2028"],
    workingDir: "/srv",
    ports: [
      { name: "http", hostPort: 8080, containerPort: 80, protocol: "TCP", hostIP: "10.0.0.1" },
      { containerPort: 53, protocol: "UDP" },
    ],
    envFrom: [
      { prefix: "A_", configMapRef: { name: "settings", optional: false } },
      { secretRef: { name: "keys", optional: true } },
      { configMapRef: { name: "more" } },
    ],
    env: [
      { name: "EMPTY" },
      { name: "TEXT", value: "x" },
      { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      {
        name: "CPU",
        valueFrom: { resourceFieldRef: { containerName: "main", resource: "limits.cpu", divisor: "1m" } },
      },
      { name: "MEMORY", valueFrom: { resourceFieldRef: { resource: "limits.memory" } } },
      { name: "KEY", valueFrom: { secretKeyRef: { name: "keys", key: "k", optional: false } } },
      { name: "SETTING", valueFrom: { configMapKeyRef: { name: "settings", key: "s" } } },
    ],
    resources: {
      limits: { cpu: "1500m", memory: "1Gi", "example.com/gpu": "2" },
      requests: { cpu: "0.5", memory: "128974848", "example.com/gpu": "2" },
      claims: [{ name: "gpu", request: "one" }, { name: "net" }],
    },
    resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }],
    volumeMounts: [
      {
        name: "scratch",
        mountPath: "/scratch",
        subPathExpr: "$(NAME)",
        mountPropagation: "HostToContainer",
      },
      { name: "host", mountPath: "/host", readOnly: true, recursiveReadOnly: "IfPossible" },
      { name: "settings", mountPath: "/settings", subPath: "a/b" },
    ],
    volumeDevices: [{ name: "claim", devicePath: "/dev/xvda" }],
    livenessProbe: {
      httpGet: {
        path: "/live",
        port: "http",
        host: "localhost",
        scheme: "HTTPS",
        httpHeaders: [{ name: "X-Probe", value: "yes" }],
      },
      initialDelaySeconds: 1,
      timeoutSeconds: 2,
      periodSeconds: 3,
      successThreshold: 1,
      failureThreshold: 5,
      terminationGracePeriodSeconds: 6,
    },
    readinessProbe: { grpc: { port: 9000, service: "health" } },
    startupProbe: { tcpSocket: { port: 80, host: "10.1.1.1" } },
    lifecycle: {
      postStart: { exec: { command: ["sh", "-c", "true"] } },
      preStop: { sleep: { seconds: 3 } },
    },
    terminationMessagePath: "/dev/message",
    terminationMessagePolicy: "FallbackToLogsOnError",
    imagePullPolicy: "Always",
    securityContext: {
      capabilities: { add: ["NET_ADMIN"], drop: ["ALL"] },
      privileged: false,
      seLinuxOptions: { user: "u", role: "r", type: "t", level: "s0:c1" },
      runAsUser: 0,
      runAsGroup: 1000,
      runAsNonRoot: false,
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: true,
      procMount: "Default",
      seccompProfile: { type: "Localhost", localhostProfile: "p.json" },
      appArmorProfile: { type: "Unconfined" },
    },
    stdin: true,
    stdinOnce: true,
    tty: true,
  },
  { name: "bare", image: "bare" },
  {
    name: "side",
    image: "side",
    livenessProbe: { exec: { command: ["true"] }, terminationGracePeriodSeconds: 1 },
    lifecycle: {
      postStart: { httpGet: { port: 8080 } },
      preStop: { httpGet: { path: "/stop", port: "http", host: "h" } },
    },
  },
];

const tolerations = [
  { key: "a", operator: "Equal", value: "b", effect: "NoSchedule" },
  { key: "c", operator: "Exists", effect: "NoExecute", tolerationSeconds: 0 },
  { operator: "Exists", effect: "PreferNoSchedule" },
];

function pod(name: string, namespace: string, spec: Fields, metadata: Fields = {}): KubernetesObject {
  const bare = { containers: [{ name: "main", image: "main" }], automountServiceAccountToken: false };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, ...metadata },
    spec: { ...bare, ...spec },
  };
}

/** Objects that the pods refer to. */
export const namedByPods = (namespace: string): KubernetesObject[] => [
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "runner", namespace } },
  {
    apiVersion: "scheduling.k8s.io/v1",
    kind: "PriorityClass",
    metadata: { name: "modest" },
    value: 0,
    preemptionPolicy: "Never",
  },
  {
    apiVersion: "node.k8s.io/v1",
    kind: "RuntimeClass",
    metadata: { name: "sandboxed" },
    handler: "sandbox",
    overhead: { podFixed: { cpu: "250m", memory: "1500Ki" } },
  },
];

export function podsOfEveryField(namespace: string): KubernetesObject[] {
  const metadata = {
    labels: { app: "web", "example.com/empty": "" },
    annotations: { "example.com/text": "lines\nand ☃ \u0000-free", constructor: "x", "1": "y" },
    finalizers: ["example.com/hold"],
    ownerReferences: [
      { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "u1", controller: true },
      { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "u2", blockOwnerDeletion: false },
    ],
  };
  return [
    pod("bare", namespace, {}),
    pod(
      "full",
      namespace,
      {
        containers,
        volumes: EVERY_VOLUME.slice(0, 12),
        initContainers: [
          {
            name: "first",
            image: "first",
            restartPolicy: "Always",
            startupProbe: { exec: { command: ["x"] } },
          },
        ],
        restartPolicy: "OnFailure",
        terminationGracePeriodSeconds: 5,
        activeDeadlineSeconds: 2_147_483_647,
        serviceAccountName: "runner",
        dnsPolicy: "None",
        dnsConfig: {
          nameservers: ["10.0.0.53"],
          searches: ["example.com"],
          options: [{ name: "ndots", value: "2" }, { name: "edns0" }],
        },
        nodeSelector: { disk: "ssd", "example.com/none": "" },
        automountServiceAccountToken: true,
        shareProcessNamespace: true,
        securityContext: {
          seLinuxOptions: { level: "s0" },
          runAsUser: 1_000,
          runAsGroup: 0,
          runAsNonRoot: true,
          supplementalGroups: [0, 7, 2_147_483_647],
          supplementalGroupsPolicy: "Merge",
          fsGroup: 2_000,
          sysctls: [{ name: "net.ipv4.ping_group_range", value: "0 1" }],
          fsGroupChangePolicy: "OnRootMismatch",
          seccompProfile: { type: "RuntimeDefault" },
          appArmorProfile: { type: "Localhost", localhostProfile: "p" },
        },
        imagePullSecrets: [{ name: "pull" }, { name: "more" }],
        hostname: "h",
        subdomain: "s",
        affinity: {
          nodeAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms },
            preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: terms[1] }],
          },
          podAffinity,
          podAntiAffinity: podAffinity,
        },
        schedulerName: "nobody",
        tolerations,
        hostAliases: [{ ip: "10.0.0.9", hostnames: ["a", "b"] }],
        readinessGates: [{ conditionType: "example.com/ready" }],
        enableServiceLinks: false,
        priorityClassName: "modest",
        runtimeClassName: "sandboxed",
        topologySpreadConstraints: [
          {
            maxSkew: 2,
            topologyKey: "zone",
            whenUnsatisfiable: "DoNotSchedule",
            labelSelector,
            minDomains: 3,
            nodeAffinityPolicy: "Ignore",
            nodeTaintsPolicy: "Honor",
            matchLabelKeys: ["pod-template-hash"],
          },
          { maxSkew: 1, topologyKey: "rack", whenUnsatisfiable: "ScheduleAnyway" },
        ],
        setHostnameAsFQDN: true,
        os: { name: "linux" },
        schedulingGates: [{ name: "example.com/wait" }],
        resourceClaims: [
          { name: "gpu", resourceClaimTemplateName: "t" },
          { name: "net", resourceClaimName: "c" },
        ],
      },
      metadata,
    ),
    pod("volumes", namespace, { volumes: EVERY_VOLUME.slice(12), hostUsers: true }),
    pod("host", namespace, {
      hostNetwork: true,
      hostPID: true,
      hostIPC: true,
      priorityClassName: "system-node-critical",
      terminationGracePeriodSeconds: 30,
    }),
    pod("windows", namespace, {
      os: { name: "windows" },
      securityContext: {
        windowsOptions: {
          gmsaCredentialSpecName: "g",
          gmsaCredentialSpec: "{}",
          runAsUserName: "u",
          hostProcess: false,
        },
      },
    }),
  ];
}

/** Fields of newer servers or behind a feature gate. Other servers drop them. */
export function podsOfNewFields(namespace: string): KubernetesObject[] {
  const main = { name: "main", image: "main" };
  const rules = [{ action: "Restart", exitCodes: { operator: "In", values: [0, 42] } }];
  const projected = (source: Fields): Fields => ({
    volumes: [{ name: "v", projected: { sources: [source], defaultUser: 7 } }],
  });
  return [
    pod("rules", namespace, {
      containers: [{ ...main, restartPolicy: "Never", restartPolicyRules: rules }],
      restartPolicy: "Never",
    }),
    pod("file-keys", namespace, {
      containers: [
        {
          ...main,
          env: [
            {
              name: "A",
              valueFrom: { fileKeyRef: { volumeName: "v", path: "p", key: "K", optional: false } },
            },
          ],
        },
      ],
      volumes: [{ name: "v", emptyDir: {} }],
    }),
    pod("host-name", namespace, { hostnameOverride: "h.example.com" }),
    pod("stop-signal", namespace, {
      containers: [{ ...main, lifecycle: { stopSignal: "SIGUSR1" } }],
      os: { name: "linux" },
    }),
    pod("pod-resources", namespace, {
      resources: { requests: { cpu: "1", memory: "1Gi" }, limits: { cpu: "2" } },
    }),
    pod("labels", namespace, {
      securityContext: { seLinuxChangePolicy: "Recursive", seLinuxOptions: { level: "s0" } },
    }),
    pod(
      "bundle",
      namespace,
      projected({
        clusterTrustBundle: { signerName: "example.com/s", labelSelector: {}, path: "p", optional: false },
      }),
    ),
    pod(
      "certificate",
      namespace,
      projected({
        podCertificate: {
          signerName: "example.com/s",
          keyType: "ED25519",
          maxExpirationSeconds: 86_400,
          credentialBundlePath: "b",
          userAnnotations: { "example.com/a": "b" },
        },
      }),
    ),
    pod("workload", namespace, { workloadRef: { name: "w", podGroup: "g", podGroupReplicaKey: "1" } }),
    pod("group", namespace, { schedulingGroup: { podGroupName: "g" } }),
    pod("responders", namespace, { evictionResponders: [{ name: "example.com/r", priority: 5_000 }] }),
    pod("mount-options", namespace, {
      containers: [{ ...main, volumeMounts: [{ name: "v", mountPath: "/v", bindMountOptions: ["noexec"] }] }],
      volumes: [{ name: "v", emptyDir: { mode: 448 } }],
    }),
    pod("grpc", namespace, {
      containers: [{ ...main, readinessProbe: { grpc: { port: 1, mode: "TLS" } } }],
    }),
  ];
}

/** Added to a pod's ephemeralContainers. */
export const EPHEMERAL_CONTAINER = {
  name: "debug",
  image: "debug",
  targetContainerName: "main",
  env: [{ name: "A", value: "x" }],
  stdin: true,
  terminationMessagePolicy: "File",
};
