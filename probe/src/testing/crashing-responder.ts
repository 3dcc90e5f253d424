// The responder thread's entry file, with a channel whose messages cause an uncaught exception.
import "../responder/worker.ts";

const channel = new BroadcastChannel("isochrone-responder-test-crash");
channel.addEventListener("message", () => {
  setImmediate(() => {
    throw new Error("told to crash");
  });
});
