// The measuring thread's entry file, with a channel whose messages cause an uncaught exception.
import "../engine/worker.ts";

const channel = new BroadcastChannel("isochrone-probe-test-crash");
channel.addEventListener("message", () => {
  setImmediate(() => {
    throw new Error("told to crash");
  });
});
