export type StopSignal = "SIGTERM" | "SIGINT";

export interface ProcessHost {
  onSignal(listener: (signal: StopSignal) => void): () => void;
  /** Called for uncaught exceptions and rejections. Returns an unsubscribe function. */
  onFatal(listener: (error: unknown) => void): () => void;
  exit(code: number): void;
}

export function nodeProcessHost(): ProcessHost {
  return {
    onSignal(listener) {
      const onTerm = (): void => listener("SIGTERM");
      const onInt = (): void => listener("SIGINT");
      process.on("SIGTERM", onTerm).on("SIGINT", onInt);
      return () => void process.off("SIGTERM", onTerm).off("SIGINT", onInt);
    },
    onFatal(listener) {
      process.on("uncaughtException", listener).on("unhandledRejection", listener);
      return () => void process.off("uncaughtException", listener).off("unhandledRejection", listener);
    },
    exit(code) {
      process.exit(code);
    },
  };
}
