import { startEngine } from './engine.ts'
import { figure } from './print.ts'
import type { BenchServer } from './server.ts'

/** What four idle worker threads add to this process, after their start has settled. */
export async function idleMemory(server: BenchServer): Promise<void> {
  await server.withRegie(async (_, url) => {
    const megabytes = () => process.memoryUsage().rss / 1024 / 1024
    const before = megabytes()
    const running = await startEngine(url, { threads: 4 })
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    figure('four_idle_threads_add', megabytes() - before, 'MB')
    await running.stop()
  })
}
