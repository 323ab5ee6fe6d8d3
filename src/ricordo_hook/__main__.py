from ricordo_hook import main

main()
