// What the main thread and the responder's thread say to each other.
import type { EngineConfig, PacketKey, ResponderSnapshot } from "../ports/ports.ts";

/** What the responder needs of an engine's settings. */
export type ResponderConfig = Pick<
  EngineConfig,
  | "node"
  | "identity"
  | "bindAddress"
  | "udpPort"
  | "tcpPort"
  | "keys"
  | "signingKeyId"
  | "acceptTranslatedSource"
  | "responderPacketsPerSecond"
>;

export type ToResponder =
  | { readonly type: "open"; readonly id: number; readonly config: ResponderConfig }
  | {
      readonly type: "keys";
      readonly id: number;
      readonly keys: readonly PacketKey[];
      readonly signingKeyId: number;
    }
  | { readonly type: "close"; readonly id: number };

export type FromResponder =
  /** `reason`: why the kernel's own calls can't be used, null when they are. */
  | { readonly type: "ready"; readonly sockets: "kernel" | "node"; readonly reason: string | null }
  | { readonly type: "opened"; readonly id: number; readonly udpPort: number; readonly tcpPort: number }
  | { readonly type: "failed"; readonly id: number; readonly message: string; readonly errno: string }
  /** What happened since the report before. */
  | { readonly type: "report"; readonly id: number; readonly snapshot: ResponderSnapshot }
  | { readonly type: "closed"; readonly id: number }
  /** Something went wrong in one task; the thread goes on. */
  | { readonly type: "fault"; readonly message: string };
