// Memory for OpenCode. Written by `ricordo agents install opencode`, which writes it anew;
// `ricordo agents uninstall opencode` removes it. All it does is to run ricordo-hook.
import { spawn } from "node:child_process"

const COMMAND = ["ricordo-hook"]
const MILLISECONDS = 1000

// What the hook says, or nothing: whatever goes wrong, OpenCode goes on.
function run(event, payload, directory) {
  return new Promise((resolve) => {
    let said = ""
    try {
      const child = spawn(COMMAND[0], [...COMMAND.slice(1), "opencode", event], {
        cwd: directory,
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      })
      const timer = setTimeout(() => {
        child.kill()
        resolve("")
      }, MILLISECONDS)
      child.on("error", () => resolve(""))
      child.stdin.on("error", () => {})
      child.stdout.on("data", (piece) => {
        said += piece
      })
      child.on("close", () => {
        clearTimeout(timer)
        try {
          resolve(said ? JSON.parse(said).text || "" : "")
        } catch {
          resolve("")
        }
      })
      child.stdin.end(JSON.stringify(payload))
    } catch {
      resolve("")
    }
  })
}

export const Ricordo = async ({ directory }) => {
  const briefs = new Map()
  const ofAgents = new Set() // sessions that agents hold among themselves

  const ask = (event, sessionID, more) =>
    run(event, { session_id: sessionID, cwd: directory, ...more }, directory)

  return {
    event: async ({ event }) => {
      const { type, properties } = event || {}
      if (type === "session.created" && properties?.info?.parentID) ofAgents.add(properties.info.id)
      const sessionID = properties?.sessionID
      if (!sessionID || ofAgents.has(sessionID)) return
      if (type === "session.idle" || type === "session.compacted") await ask("turn", sessionID)
    },

    "chat.message": async (input, output) => {
      if (ofAgents.has(input.sessionID)) return
      const own = output.parts.filter((part) => part.type === "text" && !part.synthetic)
      if (!own.length) return
      const prompt = own.map((part) => part.text).join("\n")
      const text = await ask("prompt", input.sessionID, { prompt })
      if (text) output.parts.push({ ...own[0], id: own[0].id + "x", text, synthetic: true })
    },

    "experimental.chat.system.transform": async (input, output) => {
      const sessionID = input.sessionID
      if (!sessionID || ofAgents.has(sessionID)) return
      if (!briefs.has(sessionID)) briefs.set(sessionID, ask("start", sessionID))
      const text = await briefs.get(sessionID)
      if (text) output.system.push(text)
    },
  }
}
