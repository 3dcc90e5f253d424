type Fields = Readonly<Record<string, unknown>>;

export const labelSelector = {
  matchLabels: { app: "web", "example.com/tier": "" },
  matchExpressions: [
    { key: "track", operator: "NotIn", values: ["canary"] },
    { key: "old", operator: "DoesNotExist" },
  ],
};
const item = { key: "a", path: "b", mode: 256 };
const file = { path: "labels", fieldRef: { fieldPath: "metadata.labels" }, mode: 0 };
const secretRef = { name: "keys" };
export const EVERY_VOLUME: readonly Fields[] = [
  { name: "scratch", emptyDir: { medium: "Memory", sizeLimit: "64Mi" } },
  { name: "disk", emptyDir: {} },
  { name: "host", hostPath: { path: "/var/lib", type: "DirectoryOrCreate" } },
  { name: "host-any", hostPath: { path: "/", type: "" } },
  { name: "settings", configMap: { name: "settings", items: [item], defaultMode: 420, optional: true } },
  { name: "keys", secret: { secretName: "keys", items: [item], defaultMode: 0, optional: false } },
  { name: "claim", persistentVolumeClaim: { claimName: "data", readOnly: true } },
  {
    name: "down",
    downwardAPI: {
      items: [file, { path: "cpu", resourceFieldRef: { containerName: "main", resource: "requests.cpu" } }],
      defaultMode: 288,
    },
  },
  {
    name: "all",
    projected: {
      defaultMode: 292,
      sources: [
        { secret: { name: "keys", items: [item], optional: true } },
        { configMap: { name: "settings" } },
        { downwardAPI: { items: [file] } },
        { serviceAccountToken: { audience: "vault", expirationSeconds: 7200, path: "token" } },
      ],
    },
  },
  { name: "none", projected: { sources: null } },
  {
    name: "own",
    ephemeral: {
      volumeClaimTemplate: {
        metadata: { labels: { a: "b" }, annotations: { c: "d" } },
        spec: {
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: "1Gi" } },
          selector: labelSelector,
          storageClassName: "",
          volumeMode: "Filesystem",
          volumeAttributesClassName: "fast",
          dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "s" },
        },
      },
    },
  },
  {
    name: "csi",
    csi: {
      driver: "d.example.com",
      readOnly: false,
      fsType: "ext4",
      volumeAttributes: { a: "1" },
      nodePublishSecretRef: secretRef,
    },
  },
  { name: "nfs", nfs: { server: "nfs", path: "/", readOnly: true } },
  {
    name: "iscsi",
    iscsi: {
      targetPortal: "10.0.0.1:3260",
      portals: ["10.0.0.2:3260"],
      iqn: "iqn.2001-04.com.example:storage",
      lun: 0,
      fsType: "xfs",
      chapAuthDiscovery: true,
      chapAuthSession: true,
      secretRef,
      initiatorName: "iqn.2001-04.com.example:me",
    },
  },
  { name: "fc", fc: { targetWWNs: ["500a0982991b8dc5"], lun: 2, fsType: "ext4" } },
  { name: "fc-wwids", fc: { wwids: ["3600508b400105e210000900000490000"] } },
  { name: "flocker", flocker: { datasetUUID: "u" } },
  { name: "git", gitRepo: { repository: "r", revision: "v", directory: "d" } },
  { name: "gce", gcePersistentDisk: { pdName: "p", partition: 1 } },
  { name: "aws", awsElasticBlockStore: { volumeID: "v", fsType: "ext4" } },
  { name: "azure", azureDisk: { diskName: "d", diskURI: "https://blob/d.vhd", kind: "Shared" } },
  { name: "azure-file", azureFile: { secretName: "s", shareName: "h" } },
  {
    name: "ceph",
    cephfs: { monitors: ["10.0.0.1:6789"], path: "/p", user: "u", secretFile: "/f", secretRef },
  },
  { name: "rbd", rbd: { monitors: ["10.0.0.1:6789"], image: "i", secretRef } },
  { name: "cinder", cinder: { volumeID: "v", secretRef } },
  { name: "flex", flexVolume: { driver: "a/b", options: { x: "y", __proto__: "z" }, secretRef } },
  { name: "gluster", glusterfs: { endpoints: "e", path: "p" } },
  { name: "vsphere", vsphereVolume: { volumePath: "p", storagePolicyName: "n", storagePolicyID: "i" } },
  { name: "quobyte", quobyte: { registry: "r:1", volume: "v", user: "u", group: "g", tenant: "t" } },
  { name: "portworx", portworxVolume: { volumeID: "v" } },
  {
    name: "scale",
    scaleIO: {
      gateway: "https://g",
      system: "s",
      secretRef,
      volumeName: "v",
      storagePool: "s",
      protectionDomain: "d",
      sslEnabled: true,
    },
  },
  { name: "storageos", storageos: { volumeName: "v", volumeNamespace: "n", secretRef } },
  { name: "photon", photonPersistentDisk: { pdID: "p" } },
  { name: "image", image: { reference: "oci/data:1", pullPolicy: "IfNotPresent" } },
];
