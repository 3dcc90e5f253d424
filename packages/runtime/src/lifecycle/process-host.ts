/** The signals that end a service. */
export type StopSignal = "SIGTERM" | "SIGINT";

/** What a running service needs of its process. */
export interface ProcessHost {
  /** Calls back at every signal; gives the function that ends this. */
  onSignal(listener: (signal: StopSignal) => void): () => void;
  /** Calls back at an exception or a rejection that nobody caught. */
  onFatal(listener: (error: unknown) => void): () => void;
  /** Ends the process now. */
  exit(code: number): void;
}

/** The real process. */
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
