import numpy as np

EMPTY, TREE, FIRE = 0, 1, 2


class GameOfLife:
    def __init__(self, board):
        self.board = np.array(board, dtype=bool)
        self.generation = 0

    def neighbours(self):
        b = self.board.astype(np.uint8)
        total = np.zeros_like(b)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dy or dx:
                    total += np.roll(np.roll(b, dy, axis=0), dx, axis=1)
        return total

    def step(self):
        n = self.neighbours()
        self.board = (n == 3) | (self.board & (n == 2))
        self.generation += 1

    def __iter__(self):
        return self

    def __next__(self):
        if not self.board.any():
            raise StopIteration
        self.step()
        return self.board.sum()


def play(board, max_generations=30):
    """Plays until nothing changes; population by generation."""
    game = GameOfLife(board)
    population = [game.board.sum()]
    for _ in range(max_generations):
        before = game.board
        game.step()
        population.append(game.board.sum())
        if (game.board == before).all():
            break
    return game.board, np.array(population), game.generation


class ForestFire:
    def __init__(self, grid, growth=0.05, lightning=0.01):
        self.grid = np.array(grid)
        self.growth, self.lightning = growth, lightning

    def step(self, chance):
        new = self.grid.copy()
        rows, cols = self.grid.shape
        for y in range(rows):
            for x in range(cols):
                cell = self.grid[y, x]
                if cell == FIRE:
                    new[y, x] = EMPTY
                elif cell == TREE:
                    window = self.grid[max(y - 1, 0) : y + 2, max(x - 1, 0) : x + 2]
                    if np.any(window == FIRE) or chance[y, x] < self.lightning:
                        new[y, x] = FIRE
                elif chance[y, x] < self.growth:
                    new[y, x] = TREE
        self.grid = new


def burn(grid, chances):
    forest = ForestFire(grid)
    counts = []
    for chance in chances:
        forest.step(chance)
        counts.append([np.sum(forest.grid == kind) for kind in (EMPTY, TREE, FIRE)])
    return forest.grid, np.array(counts)
